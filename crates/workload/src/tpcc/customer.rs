//! Finds a customer by number or name, as Payment and Order-Status do (clauses 2.5.2.2 and 2.6.2.2).

use crate::{Answer, Params};

use super::input::{CustomerInput, Naming};
use super::money::int;
use super::names::push_last_name;
use super::statements::Sql;

impl CustomerInput {
    /// Asks for all customers of the last name, if the customer is given by name.
    pub(super) fn search(&self, params: &mut Params) -> Option<Sql> {
        let Naming::LastName(number) = self.naming else { return None };
        params.push_int(self.warehouse);
        params.push_int(self.district);
        params.text_with(|out| push_last_name(number, out));
        Some(Sql::CustomersByName)
    }

    /// The id, if the customer is given by id.
    pub(super) fn id(&self) -> Option<i64> {
        match self.naming {
            Naming::Id(id) => Some(id),
            Naming::LastName(_) => None,
        }
    }
}

/// Of the customers found by their last name, the one in the middle, rounded up.
pub(super) fn in_the_middle(answer: Answer<'_>) -> Option<i64> {
    let rows = usize::try_from(answer.completion.rows).ok()?;
    let [id] = answer.rows::<1>().nth(rows.checked_sub(1)? / 2)?;
    int(&id)
}
