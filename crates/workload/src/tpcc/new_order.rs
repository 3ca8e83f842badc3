//! The New-Order transaction of TPC-C (clause 2.4).

use crate::{Answer, Params};

use super::input::{NewOrderInput, UNUSED_ITEM};
use super::money::{hundredths, int, text};
use super::statements::{Sql, stock_for};
use super::transaction::{Next, Transaction, push_all};

/// New-Order (clause 2.4.2).
#[derive(Debug)]
pub(super) struct NewOrder {
    input: NewOrderInput,
    awaits: Awaits,
    /// The order's id.
    order: i64,
    /// The index of the current line.
    line: usize,
    /// The price of the line's item, in hundredths.
    price: i64,
}

/// The statement sent last, whose answer comes next. Each variant is followed by the next one;
/// `Line` goes back to `Item` as long as there are lines.
#[derive(Copy, Clone, Debug)]
enum Awaits {
    Begin,
    Warehouse,
    Customer,
    District,
    DistrictCounted,
    Order,
    NewOrder,
    Item,
    Stock,
    StockTaken,
    Line,
}

impl NewOrder {
    pub(super) fn new(input: NewOrderInput) -> Self {
        Self { input, awaits: Awaits::Begin, order: 0, line: 0, price: 0 }
    }

    fn send(&mut self, awaits: Awaits, sql: Sql, numbers: &[i64], params: &mut Params) -> Next {
        self.awaits = awaits;
        push_all(numbers, params);
        sql.into()
    }

    fn insert_order(&mut self, params: &mut Params) -> Next {
        let NewOrderInput { warehouse, district, customer, count, .. } = self.input;
        let all_local = i64::from(self.input.is_all_local());
        let numbers = [warehouse, district, self.order, customer, count as i64, all_local];
        self.send(Awaits::Order, Sql::InsertOrder, &numbers, params)
    }

    fn read_item(&mut self, params: &mut Params) -> Next {
        let item = self.input.lines[self.line].item;
        self.send(Awaits::Item, Sql::Item, &[item], params)
    }

    fn read_stock(&mut self, answer: Answer<'_>, params: &mut Params) -> Option<Next> {
        let line = self.input.lines[self.line];
        let Some([price, ..]) = answer.rows::<3>().next() else {
            // Clause 2.4.2.3: the user has typed the number of a nonexistent item.
            return (line.item == UNUSED_ITEM).then_some(Next::Rollback);
        };
        self.price = hundredths(&price)?;
        self.awaits = Awaits::Stock;
        push_all(&[line.supplier, line.item], params);
        Some(Next::Send(stock_for(self.input.district)))
    }

    fn take_from_stock(
        &mut self,
        answer: Answer<'_>,
        kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        let [quantity, dist_info, _] = answer.rows::<3>().next()?;
        kept.clear();
        kept.extend_from_slice(text(&dist_info)?);
        let line = self.input.lines[self.line];
        let left = left_in_stock(int(&quantity)?, line.quantity);
        let remote = i64::from(line.supplier != self.input.warehouse);
        let numbers = [left, line.quantity, remote, line.supplier, line.item];
        Some(self.send(Awaits::StockTaken, Sql::UpdateStock, &numbers, params))
    }

    fn insert_line(&mut self, kept: &[u8], params: &mut Params) -> Next {
        let line = self.input.lines[self.line];
        let NewOrderInput { warehouse, district, .. } = self.input;
        let number = self.line as i64 + 1;
        let amount = line.quantity * self.price;
        let place = [warehouse, district, self.order, number];
        push_all(&place, params);
        push_all(&[line.item, line.supplier, line.quantity, amount], params);
        params.push_text(kept);
        self.send(Awaits::Line, Sql::InsertLine, &[], params)
    }
}

impl Transaction for NewOrder {
    fn advance(
        &mut self,
        answer: Answer<'_>,
        kept: &mut Vec<u8>,
        params: &mut Params,
    ) -> Option<Next> {
        let NewOrderInput { warehouse, district, customer, .. } = self.input;
        Some(match self.awaits {
            Awaits::Begin => self.send(Awaits::Warehouse, Sql::WarehouseTax, &[warehouse], params),
            Awaits::Warehouse => {
                answer.rows::<1>().next()?;
                let numbers = [warehouse, district, customer];
                self.send(Awaits::Customer, Sql::CustomerDiscount, &numbers, params)
            }
            Awaits::Customer => {
                answer.rows::<3>().next()?;
                self.send(Awaits::District, Sql::DistrictForOrder, &[warehouse, district], params)
            }
            Awaits::District => {
                let [_, next_order] = answer.rows::<2>().next()?;
                self.order = int(&next_order)?;
                self.send(Awaits::DistrictCounted, Sql::CountOrder, &[warehouse, district], params)
            }
            Awaits::DistrictCounted => self.insert_order(params),
            Awaits::Order => {
                let numbers = [warehouse, district, self.order];
                self.send(Awaits::NewOrder, Sql::InsertNewOrder, &numbers, params)
            }
            Awaits::NewOrder => self.read_item(params),
            Awaits::Item => self.read_stock(answer, params)?,
            Awaits::Stock => self.take_from_stock(answer, kept, params)?,
            Awaits::StockTaken => self.insert_line(kept, params),
            Awaits::Line => {
                self.line += 1;
                if self.line == self.input.count {
                    return Some(Next::Commit);
                }
                self.read_item(params)
            }
        })
    }

    fn needs_answer(&self) -> bool {
        match self.awaits {
            Awaits::Warehouse
            | Awaits::Customer
            | Awaits::District
            | Awaits::Item
            | Awaits::Stock => true,
            Awaits::Begin
            | Awaits::DistrictCounted
            | Awaits::Order
            | Awaits::NewOrder
            | Awaits::StockTaken
            | Awaits::Line => false,
        }
    }

    fn awaited(&self) -> &'static str {
        match self.awaits {
            Awaits::Warehouse => "tpcc_warehouse has not the warehouse of a New-Order",
            Awaits::Customer => "tpcc_customer has not the customer of a New-Order",
            Awaits::District => "tpcc_district has not the district of a New-Order",
            Awaits::Item => "tpcc_item has not the item of a New-Order",
            _ => "tpcc_stock has not the item of a New-Order",
        }
    }

    fn restart(&mut self) {
        *self = Self::new(self.input);
    }
}

/// Clause 2.4.2.2: below ten the stock is filled up.
fn left_in_stock(quantity: i64, ordered: i64) -> i64 {
    if quantity >= ordered + 10 { quantity - ordered } else { quantity - ordered + 91 }
}

#[cfg(test)]
mod tests {
    use super::left_in_stock;

    #[test]
    fn the_stock_is_filled_up_before_it_is_below_ten() {
        assert_eq!(left_in_stock(50, 5), 45);
        assert_eq!(left_in_stock(15, 5), 10);
        assert_eq!(left_in_stock(14, 5), 100);
        assert_eq!(left_in_stock(10, 10), 91);
    }
}
