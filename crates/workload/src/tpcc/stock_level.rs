//! The Stock-Level transaction of TPC-C (clause 2.8).

use crate::{Answer, Params};

use super::money::int;
use super::statements::Sql;
use super::transaction::{Next, Transaction, push_all};

/// How many of the last orders are checked for their items (clause 2.8.2.2).
const LAST_ORDERS: i64 = 20;

/// Stock-Level (clause 2.8.2).
#[derive(Debug)]
pub(super) struct StockLevel {
    warehouse: i64,
    district: i64,
    threshold: i64,
    awaits: Awaits,
}

/// The statement sent last, whose answer comes next.
#[derive(Copy, Clone, Debug)]
enum Awaits {
    Begin,
    District,
    Stock,
}

impl StockLevel {
    pub(super) fn new(warehouse: i64, district: i64, threshold: i64) -> Self {
        Self { warehouse, district, threshold, awaits: Awaits::Begin }
    }
}

impl Transaction for StockLevel {
    fn advance(
        &mut self,
        answer: Answer<'_>,
        _kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        let place = [self.warehouse, self.district];
        match self.awaits {
            Awaits::Begin => {
                self.awaits = Awaits::District;
                push_all(&place, params);
                Some(Sql::NextOrder.into())
            }
            Awaits::District => {
                let [next] = answer.rows::<1>().next()?;
                let next = int(&next)?;
                self.awaits = Awaits::Stock;
                push_all(&place, params);
                push_all(&[next - LAST_ORDERS, next, self.threshold], params);
                Some(Sql::LowStock.into())
            }
            Awaits::Stock => {
                answer.rows::<1>().next()?;
                Some(Next::Commit)
            }
        }
    }

    fn needs_answer(&self) -> bool {
        !matches!(self.awaits, Awaits::Begin)
    }

    fn awaited(&self) -> &'static str {
        "tpcc_district has not the district of a Stock-Level"
    }

    fn restart(&mut self) {
        self.awaits = Awaits::Begin;
    }
}
