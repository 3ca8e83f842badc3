//! The input of TPC-C's transactions, drawn as a terminal's user would type it.

use crate::random::Random;

use super::nurand::Constants;
use super::{DISTRICTS, ITEMS, LINES};

/// How a customer is identified.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// By its id.
    Id(i64),
    /// By the number of its last name.
    LastName(u64),
}

/// A customer of some district.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct CustomerInput {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) naming: Naming,
}

/// A line of an order.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineInput {
    pub(super) item: i64,
    pub(super) supplier: i64,
    pub(super) quantity: i64,
}

/// The input of New-Order (clause 2.4.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct NewOrderInput {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) customer: i64,
    pub(super) count: usize,
    pub(super) lines: [LineInput; LINES.1 as usize],
}

impl NewOrderInput {
    pub(super) fn is_all_local(&self) -> bool {
        self.lines[..self.count].iter().all(|line| line.supplier == self.warehouse)
    }
}

/// The input of Payment (clause 2.5.1).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct PaymentInput {
    pub(super) warehouse: i64,
    pub(super) district: i64,
    pub(super) customer: CustomerInput,
    /// The amount in hundredths.
    pub(super) amount: i64,
}

/// A nonexistent item: an order with it must be rolled back (clause 2.4.1.5).
pub(super) const UNUSED_ITEM: i64 = ITEMS as i64 + 1;

/// Draws inputs for one user.
#[derive(Debug)]
pub(super) struct Inputs {
    pub(super) random: Random,
    pub(super) constants: Constants,
    pub(super) warehouses: u64,
}

impl Inputs {
    pub(super) fn new_order(&mut self, warehouse: i64) -> NewOrderInput {
        let district = self.number(1, DISTRICTS);
        let customer = self.constants.customer(&mut self.random) as i64;
        let count = self.number(LINES.0, LINES.1) as usize;
        let is_rolled_back = self.is_one_in_percent(1);
        let mut lines = [LineInput::default(); LINES.1 as usize];
        for line in &mut lines[..count] {
            let item = self.constants.item(&mut self.random) as i64;
            let supplier =
                if self.is_one_in_percent(1) { self.other(warehouse) } else { warehouse };
            *line = LineInput { item, supplier, quantity: self.number(1, 10) };
        }
        if is_rolled_back {
            lines[count - 1].item = UNUSED_ITEM;
        }
        NewOrderInput { warehouse, district, customer, count, lines }
    }

    pub(super) fn payment(&mut self, warehouse: i64) -> PaymentInput {
        let district = self.number(1, DISTRICTS);
        let (of_customer, in_district) = if self.is_one_in_percent(85) {
            (warehouse, district)
        } else {
            (self.other(warehouse), self.number(1, DISTRICTS))
        };
        let naming = self.naming();
        let customer = CustomerInput { warehouse: of_customer, district: in_district, naming };
        PaymentInput { warehouse, district, customer, amount: self.number(100, 500_000) }
    }

    /// The input of Order-Status (clause 2.6.1).
    pub(super) fn order_status(&mut self, warehouse: i64) -> CustomerInput {
        let district = self.number(1, DISTRICTS);
        CustomerInput { warehouse, district, naming: self.naming() }
    }

    /// Clause 2.7.1: the carrier of the orders.
    pub(super) fn carrier(&mut self) -> i64 {
        self.number(1, 10)
    }

    /// Clause 2.8.1: the quantity below which the stock is low.
    pub(super) fn threshold(&mut self) -> i64 {
        self.number(10, 20)
    }

    /// One of this many places, from zero.
    pub(super) fn place(&mut self, count: u64) -> u64 {
        self.random.below(count)
    }

    fn naming(&mut self) -> Naming {
        if self.is_one_in_percent(60) {
            Naming::LastName(self.constants.last_name(&mut self.random))
        } else {
            Naming::Id(self.constants.customer(&mut self.random) as i64)
        }
    }

    /// Any warehouse other than this one, if there are others.
    fn other(&mut self, warehouse: i64) -> i64 {
        if self.warehouses == 1 {
            return warehouse;
        }
        let drawn = self.number(1, self.warehouses - 1);
        drawn + i64::from(drawn >= warehouse)
    }

    fn is_one_in_percent(&mut self, percent: u64) -> bool {
        self.random.within(1, 100) <= percent
    }

    /// All numbers here are far below 2^63.
    fn number(&mut self, least: u64, greatest: u64) -> i64 {
        self.random.within(least, greatest) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn inputs(warehouses: u64) -> Inputs {
        let random = Random::new(7, Purpose::Keys, &[0]);
        Inputs { random, constants: Constants::new(7), warehouses }
    }

    /// Whether a share of 100,000 draws is what it should be, within six deviations.
    fn is_near(count: usize, draws: usize, share: f64) -> bool {
        let deviation = (draws as f64 * share * (1.0 - share)).sqrt();
        (count as f64 - draws as f64 * share).abs() < 6.0 * deviation
    }

    #[test]
    fn orders_are_as_clause_2_4_1_says() {
        let mut inputs = inputs(10);
        let draws = 100_000;
        let (mut rolled_back, mut lines, mut remote) = (0, 0, 0);
        for _ in 0..draws {
            let order = inputs.new_order(4);
            assert!((1..=10).contains(&order.district) && (1..=3_000).contains(&order.customer));
            assert!((5..=15).contains(&order.count));
            let (last, before) = order.lines[..order.count].split_last().unwrap();
            assert!(before.iter().all(|line| (1..=100_000).contains(&line.item)));
            assert!((1..=100_001).contains(&last.item));
            rolled_back += usize::from(last.item == UNUSED_ITEM);
            let taken = &order.lines[..order.count];
            assert!(taken.iter().all(|line| (1..=10).contains(&line.quantity)));
            assert!(taken.iter().all(|line| (1..=10).contains(&line.supplier)));
            let others = taken.iter().filter(|line| line.supplier != 4).count();
            assert_eq!(order.is_all_local(), others == 0);
            (lines, remote) = (lines + order.count, remote + others);
        }
        assert!(is_near(rolled_back, draws, 0.01), "{rolled_back}");
        assert!(is_near(remote, lines, 0.01), "{remote} of {lines}");
        assert!(lines.abs_diff(10 * draws) < draws / 10, "{lines}");
    }

    #[test]
    fn payments_are_as_clause_2_5_1_says() {
        let mut inputs = inputs(3);
        let draws = 100_000;
        let (mut remote, mut by_name, mut to_third) = (0, 0, 0);
        for _ in 0..draws {
            let payment = inputs.payment(2);
            assert!((100..=500_000).contains(&payment.amount));
            let customer = payment.customer;
            assert!((1..=10).contains(&customer.district));
            if customer.warehouse == 2 {
                assert_eq!(customer.district, payment.district);
            }
            remote += usize::from(customer.warehouse != 2);
            to_third += usize::from(customer.warehouse == 3);
            by_name += usize::from(matches!(customer.naming, Naming::LastName(0..=999)));
        }
        assert!(is_near(remote, draws, 0.15), "{remote}");
        assert!(is_near(to_third, remote, 0.5), "{to_third} of {remote}");
        assert!(is_near(by_name, draws, 0.6), "{by_name}");
    }

    #[test]
    fn with_one_warehouse_nothing_is_remote() {
        let mut inputs = inputs(1);
        for _ in 0..10_000 {
            assert!(inputs.new_order(1).is_all_local());
            assert_eq!(inputs.payment(1).customer.warehouse, 1);
        }
    }

    #[test]
    fn the_other_inputs_are_in_their_ranges() {
        let mut inputs = inputs(5);
        let draws = 50_000;
        let mut by_name = 0;
        for _ in 0..draws {
            let customer = inputs.order_status(5);
            assert!(customer.warehouse == 5 && (1..=10).contains(&customer.district));
            by_name += usize::from(matches!(customer.naming, Naming::LastName(_)));
            assert!((1..=10).contains(&inputs.carrier()));
            assert!((10..=20).contains(&inputs.threshold()));
        }
        assert!(is_near(by_name, draws, 0.6), "{by_name}");
    }
}
