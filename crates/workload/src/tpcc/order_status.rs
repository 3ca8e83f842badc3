//! The Order-Status transaction of TPC-C (clause 2.6).

use crate::{Answer, Params};

use super::customer::in_the_middle;
use super::input::CustomerInput;
use super::money::int;
use super::statements::Sql;
use super::transaction::{Next, Transaction, push_all};

/// Order-Status (clause 2.6.2).
#[derive(Debug)]
pub(super) struct OrderStatus {
    input: CustomerInput,
    awaits: Awaits,
    customer: i64,
}

/// The statement sent last, whose answer comes next.
#[derive(Copy, Clone, Debug)]
enum Awaits {
    Begin,
    /// Only if the customer is given by last name.
    Names,
    Customer,
    Order,
    Lines,
}

impl OrderStatus {
    pub(super) fn new(input: CustomerInput) -> Self {
        Self { input, awaits: Awaits::Begin, customer: 0 }
    }

    fn send(&mut self, awaits: Awaits, sql: Sql, last: i64, params: &mut Params) -> Next {
        self.awaits = awaits;
        push_all(&[self.input.warehouse, self.input.district, last], params);
        sql.into()
    }

    fn read_customer(&mut self, id: i64, params: &mut Params) -> Next {
        self.customer = id;
        self.send(Awaits::Customer, Sql::Customer, id, params)
    }
}

impl Transaction for OrderStatus {
    fn advance(
        &mut self,
        answer: Answer<'_>,
        _kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        Some(match self.awaits {
            Awaits::Begin => {
                if let Some(sql) = self.input.search(params) {
                    self.awaits = Awaits::Names;
                    return Some(sql.into());
                }
                let id = self.input.id()?;
                self.read_customer(id, params)
            }
            Awaits::Names => {
                let id = in_the_middle(answer)?;
                self.read_customer(id, params)
            }
            Awaits::Customer => {
                answer.rows::<4>().next()?;
                self.send(Awaits::Order, Sql::LastOrder, self.customer, params)
            }
            Awaits::Order => {
                let [order, ..] = answer.rows::<3>().next()?;
                self.send(Awaits::Lines, Sql::Lines, int(&order)?, params)
            }
            Awaits::Lines => {
                answer.rows::<5>().next()?;
                Next::Commit
            }
        })
    }

    fn needs_answer(&self) -> bool {
        !matches!(self.awaits, Awaits::Begin)
    }

    fn awaited(&self) -> &'static str {
        match self.awaits {
            Awaits::Order => "tpcc_orders has no order of the customer of an Order-Status",
            Awaits::Lines => "tpcc_order_line has no line of the order of an Order-Status",
            _ => "tpcc_customer has not the customer of an Order-Status",
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.input);
    }
}
