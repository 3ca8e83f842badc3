//! The Delivery transaction of TPC-C (clause 2.7).

use crate::{Answer, Params};

use super::DISTRICTS;
use super::money::{hundredths, int};
use super::statements::Sql;
use super::transaction::{Next, Transaction, push_all};

/// Delivery (clause 2.7.4), all districts in one transaction.
#[derive(Debug)]
pub(super) struct Delivery {
    warehouse: i64,
    carrier: i64,
    awaits: Awaits,
    district: i64,
    order: i64,
    customer: i64,
}

/// The statement sent last, whose answer comes next. `CustomerPaid` continues with `NewOrder` of
/// the next district, and so does a `NewOrder` without a row: such a district is skipped.
#[derive(Copy, Clone, Debug)]
enum Awaits {
    Begin,
    NewOrder,
    NewOrderGone,
    Order,
    OrderCarried,
    LinesDelivered,
    Amount,
    CustomerPaid,
}

impl Delivery {
    pub(super) fn new(warehouse: i64, carrier: i64) -> Self {
        Self { warehouse, carrier, awaits: Awaits::Begin, district: 0, order: 0, customer: 0 }
    }

    /// The oldest order of the next district, if there is another district.
    fn next_district(&mut self, params: &mut Params) -> Next {
        if self.district == DISTRICTS as i64 {
            return Next::Commit;
        }
        self.district += 1;
        self.awaits = Awaits::NewOrder;
        push_all(&[self.warehouse, self.district], params);
        Sql::OldestNewOrder.into()
    }

    /// Sends a statement about the order, or its customer.
    fn send(&mut self, awaits: Awaits, sql: Sql, last: i64, params: &mut Params) -> Next {
        self.awaits = awaits;
        push_all(&[self.warehouse, self.district, last], params);
        sql.into()
    }
}

impl Transaction for Delivery {
    fn advance(
        &mut self,
        answer: Answer<'_>,
        _kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        Some(match self.awaits {
            Awaits::Begin | Awaits::CustomerPaid => self.next_district(params),
            Awaits::NewOrder => {
                let Some([order]) = answer.rows::<1>().next() else {
                    return Some(self.next_district(params));
                };
                self.order = int(&order)?;
                self.send(Awaits::NewOrderGone, Sql::DeleteNewOrder, self.order, params)
            }
            Awaits::NewOrderGone => {
                self.send(Awaits::Order, Sql::CustomerOfOrder, self.order, params)
            }
            Awaits::Order => {
                let [customer] = answer.rows::<1>().next()?;
                self.customer = int(&customer)?;
                params.push_int(self.carrier);
                self.send(Awaits::OrderCarried, Sql::CarryOrder, self.order, params)
            }
            Awaits::OrderCarried => {
                self.send(Awaits::LinesDelivered, Sql::DeliverLines, self.order, params)
            }
            Awaits::LinesDelivered => {
                self.send(Awaits::Amount, Sql::AmountOfOrder, self.order, params)
            }
            Awaits::Amount => {
                let [amount] = answer.rows::<1>().next()?;
                params.push_int(hundredths(&amount)?);
                self.send(Awaits::CustomerPaid, Sql::PayOnDelivery, self.customer, params)
            }
        })
    }

    fn needs_answer(&self) -> bool {
        match self.awaits {
            Awaits::NewOrder | Awaits::Order | Awaits::Amount => true,
            Awaits::Begin
            | Awaits::NewOrderGone
            | Awaits::OrderCarried
            | Awaits::LinesDelivered
            | Awaits::CustomerPaid => false,
        }
    }

    fn awaited(&self) -> &'static str {
        match self.awaits {
            Awaits::Order => "tpcc_orders has not the order of a Delivery",
            _ => "tpcc_order_line has no line of the order of a Delivery",
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.warehouse, self.carrier);
    }
}
