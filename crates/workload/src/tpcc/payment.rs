//! The Payment transaction of TPC-C (clause 2.5).

use crate::{Answer, Params};

use super::customer::in_the_middle;
use super::input::PaymentInput;
use super::money::{push_amount, text};
use super::statements::Sql;
use super::transaction::{Next, Transaction, push_all};

/// The maximum length of `c_data` (clause 2.5.2.2).
const C_DATA: usize = 500;
/// Between the names of warehouse and district in `h_data`.
const GAP: &[u8] = b"    ";
/// Payments of customers with this in `c_credit` are recorded in `c_data` (clause 2.5.2.2).
const BAD_CREDIT: &[u8] = b"BC";

/// Payment (clause 2.5.2).
#[derive(Debug)]
pub(super) struct Payment {
    input: PaymentInput,
    awaits: Awaits,
    customer: i64,
}

/// The statement sent last, whose answer comes next.
#[derive(Copy, Clone, Debug)]
enum Awaits {
    Begin,
    WarehousePaid,
    Warehouse,
    DistrictPaid,
    District,
    /// Only if the customer is given by last name.
    Names,
    Customer,
    /// Only if the credit is bad.
    Data,
    CustomerPaid,
    History,
}

impl Payment {
    pub(super) fn new(input: PaymentInput) -> Self {
        Self { input, awaits: Awaits::Begin, customer: 0 }
    }

    fn send(&mut self, awaits: Awaits, sql: Sql, numbers: &[i64], params: &mut Params) -> Next {
        self.awaits = awaits;
        push_all(numbers, params);
        sql.into()
    }

    /// Warehouse, district and id of the customer.
    fn of_customer(&self) -> [i64; 3] {
        [self.input.customer.warehouse, self.input.customer.district, self.customer]
    }

    fn find_customer(&mut self, params: &mut Params) -> Next {
        match self.input.customer.search(params) {
            Some(sql) => self.send(Awaits::Names, sql, &[], params),
            None => {
                let id = self.input.customer.id().unwrap_or_default();
                self.read_customer(id, params)
            }
        }
    }

    fn read_customer(&mut self, id: i64, params: &mut Params) -> Next {
        self.customer = id;
        self.send(Awaits::Customer, Sql::CustomerForPayment, &self.of_customer(), params)
    }

    fn pay(&mut self, answer: Answer<'_>, params: &mut Params) -> Option<Next> {
        let [credit, ..] = answer.rows::<14>().next()?;
        if text(&credit)? == BAD_CREDIT {
            return Some(self.send(Awaits::Data, Sql::CustomerData, &self.of_customer(), params));
        }
        let amount = self.input.amount;
        push_all(&[amount, amount], params);
        Some(self.send(Awaits::CustomerPaid, Sql::PayCustomer, &self.of_customer(), params))
    }

    fn pay_and_tell(&mut self, answer: Answer<'_>, params: &mut Params) -> Option<Next> {
        let [data] = answer.rows::<1>().next()?;
        let data = text(&data)?;
        let amount = self.input.amount;
        push_all(&[amount, amount], params);
        params.text_with(|out| self.push_data(data, out));
        Some(self.send(Awaits::CustomerPaid, Sql::PayBadCustomer, &self.of_customer(), params))
    }

    /// Writes this payment's data, followed by the previous content.
    fn push_data(&self, before: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let [warehouse, district, customer] = self.of_customer();
        for number in [customer, district, warehouse, self.input.district, self.input.warehouse] {
            crate::text::push_decimal(number, out);
            out.push(b' ');
        }
        push_amount(self.input.amount, out);
        out.push(b' ');
        let room = C_DATA - (out.len() - start);
        out.extend_from_slice(&before[..before.len().min(room)]);
    }

    fn insert_history(&mut self, kept: &[u8], params: &mut Params) -> Next {
        push_all(&self.of_customer(), params);
        let PaymentInput { warehouse, district, amount, .. } = self.input;
        push_all(&[warehouse, district, amount], params);
        params.push_text(kept);
        self.send(Awaits::History, Sql::InsertHistory, &[], params)
    }
}

impl Transaction for Payment {
    fn advance(
        &mut self,
        answer: Answer<'_>,
        kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        let PaymentInput { warehouse, district, amount, .. } = self.input;
        Some(match self.awaits {
            Awaits::Begin => {
                let numbers = [amount, warehouse];
                self.send(Awaits::WarehousePaid, Sql::PayWarehouse, &numbers, params)
            }
            Awaits::WarehousePaid => {
                self.send(Awaits::Warehouse, Sql::Warehouse, &[warehouse], params)
            }
            Awaits::Warehouse => {
                let [name, ..] = answer.rows::<6>().next()?;
                kept.clear();
                kept.extend_from_slice(text(&name)?);
                kept.extend_from_slice(GAP);
                let numbers = [amount, warehouse, district];
                self.send(Awaits::DistrictPaid, Sql::PayDistrict, &numbers, params)
            }
            Awaits::DistrictPaid => {
                self.send(Awaits::District, Sql::District, &[warehouse, district], params)
            }
            Awaits::District => {
                let [name, ..] = answer.rows::<6>().next()?;
                kept.extend_from_slice(text(&name)?);
                self.find_customer(params)
            }
            Awaits::Names => {
                let id = in_the_middle(answer)?;
                self.read_customer(id, params)
            }
            Awaits::Customer => self.pay(answer, params)?,
            Awaits::Data => self.pay_and_tell(answer, params)?,
            Awaits::CustomerPaid => self.insert_history(kept, params),
            Awaits::History => Next::Commit,
        })
    }

    fn needs_answer(&self) -> bool {
        match self.awaits {
            Awaits::Warehouse
            | Awaits::District
            | Awaits::Names
            | Awaits::Customer
            | Awaits::Data => true,
            Awaits::Begin
            | Awaits::WarehousePaid
            | Awaits::DistrictPaid
            | Awaits::CustomerPaid
            | Awaits::History => false,
        }
    }

    fn awaited(&self) -> &'static str {
        match self.awaits {
            Awaits::Warehouse => "tpcc_warehouse has not the warehouse of a Payment",
            Awaits::District => "tpcc_district has not the district of a Payment",
            _ => "tpcc_customer has not the customer of a Payment",
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.input);
    }
}
