//! The step machine of TPC-C's users: deals transactions and runs them.

use loadstone_measure::Nanos;

use crate::random::{Purpose, Random};
use crate::{Answer, Machine, Params, Step};

use super::DISTRICTS;
use super::deck::{Deck, Kind};
use super::delivery::Delivery;
use super::input::Inputs;
use super::new_order::NewOrder;
use super::nurand::Constants;
use super::order_status::OrderStatus;
use super::pace::Pace;
use super::payment::Payment;
use super::statements::Sql;
use super::stock_level::StockLevel;
use super::transaction::{Next, Transaction};

/// A transaction that was tried this often without success gets new input: one that cannot succeed
/// must not hold its user for ever.
const MOST_ATTEMPTS: u32 = 10;

/// What all users share.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Tpcc {
    pub(crate) warehouses: u32,
    /// Whether users have keying and think times.
    pub(crate) paced: bool,
}

/// One user.
///
/// A transaction that the server refuses is restarted with the same input, so that deadlocks do not
/// change the mix: an order of fifteen lines has more of them than one of five.
#[derive(Debug)]
pub(crate) struct TpccMachine {
    inputs: Inputs,
    deck: Deck,
    home: Home,
    pace: Option<Pace>,
    phase: Phase,
    event: Option<Event>,
    /// The kind of the next event, if it was drawn already.
    upcoming: Option<Kind>,
    /// The kind of the last event, and whether it was rolled back intentionally.
    done: Option<(Kind, bool)>,
    /// A text that a transaction keeps for a later statement.
    kept: Vec<u8>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// No transaction is open. Next: `Inside`.
    Idle,
    /// Next: `Ending`, or `Idle` if the event is abandoned.
    Inside,
    /// COMMIT or ROLLBACK was sent. Next: `Idle`.
    Ending { rolls_back: bool },
}

#[derive(Debug)]
struct Event {
    kind: Kind,
    transaction: AnyTransaction,
    attempts: u32,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a user has one, and orders are nearly half of all")]
enum AnyTransaction {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

impl AnyTransaction {
    fn needs_answer(&self) -> bool {
        match self {
            Self::NewOrder(one) => one.needs_answer(),
            Self::Payment(one) => one.needs_answer(),
            Self::OrderStatus(one) => one.needs_answer(),
            Self::Delivery(one) => one.needs_answer(),
            Self::StockLevel(one) => one.needs_answer(),
        }
    }

    fn get(&mut self) -> &mut dyn Transaction {
        match self {
            Self::NewOrder(one) => one,
            Self::Payment(one) => one,
            Self::OrderStatus(one) => one,
            Self::Delivery(one) => one,
            Self::StockLevel(one) => one,
        }
    }
}

/// A user's home: one warehouse (clause 2.4.1.1), or several if there are more warehouses than
/// users, so that all of them are used.
#[derive(Copy, Clone, Debug)]
struct Home {
    first: u64,
    stride: u64,
    count: u64,
    /// The district whose stock it checks (clause 2.8.1.1).
    district: i64,
}

impl Home {
    fn new(warehouses: u64, user: u64, users: u64) -> Self {
        let users = users.max(user + 1);
        if users >= warehouses {
            let district = (user / warehouses % DISTRICTS) as i64 + 1;
            return Self { first: user % warehouses + 1, stride: 0, count: 1, district };
        }
        let count = (warehouses - user - 1) / users + 1;
        Self { first: user + 1, stride: users, count, district: (user % DISTRICTS) as i64 + 1 }
    }

    fn warehouse(self, inputs: &mut Inputs) -> i64 {
        let place = if self.count == 1 { 0 } else { inputs.place(self.count) };
        (self.first + self.stride * place) as i64
    }
}

impl TpccMachine {
    pub(crate) fn new(shared: Tpcc, seed: u64, user: u64, users: u64) -> Self {
        let warehouses = u64::from(shared.warehouses);
        let random = Random::new(seed, Purpose::Keys, &[user]);
        Self {
            inputs: Inputs { random, constants: Constants::new(seed), warehouses },
            deck: Deck::new(Random::new(seed, Purpose::Kinds, &[user])),
            home: Home::new(warehouses, user, users),
            pace: shared.paced.then(|| Pace::new(seed, user)),
            phase: Phase::Idle,
            event: None,
            upcoming: None,
            done: None,
            kept: Vec::new(),
        }
    }

    fn begin(&mut self) -> Step {
        if self.event.is_none() {
            let kind = self.upcoming.take().unwrap_or_else(|| self.deck.draw());
            let transaction = self.draw(kind);
            self.event = Some(Event { kind, transaction, attempts: 0 });
        }
        self.phase = Phase::Inside;
        Step::Send(Sql::Begin.statement())
    }

    /// A transaction with new input.
    fn draw(&mut self, kind: Kind) -> AnyTransaction {
        let inputs = &mut self.inputs;
        let warehouse = self.home.warehouse(inputs);
        match kind {
            Kind::NewOrder => AnyTransaction::NewOrder(NewOrder::new(inputs.new_order(warehouse))),
            Kind::Payment => AnyTransaction::Payment(Payment::new(inputs.payment(warehouse))),
            Kind::OrderStatus => {
                AnyTransaction::OrderStatus(OrderStatus::new(inputs.order_status(warehouse)))
            }
            Kind::Delivery => AnyTransaction::Delivery(Delivery::new(warehouse, inputs.carrier())),
            Kind::StockLevel => {
                let district = self.home.district;
                let transaction = StockLevel::new(warehouse, district, inputs.threshold());
                AnyTransaction::StockLevel(transaction)
            }
        }
    }

    fn go_on(&mut self, answer: Answer<'_>, params: &mut Params) -> Step {
        let Some(event) = &mut self.event else { return Step::Done };
        let transaction = event.transaction.get();
        match transaction.advance(answer, &mut self.kept, params) {
            None => Step::Fail(transaction.awaited()),
            Some(Next::Send(statement)) => Step::Send(statement),
            Some(Next::Commit) => self.end(Sql::Commit),
            Some(Next::Rollback) => self.end(Sql::Rollback),
        }
    }

    fn end(&mut self, sql: Sql) -> Step {
        self.phase = Phase::Ending { rolls_back: sql == Sql::Rollback };
        Step::Send(sql.statement())
    }

    fn ended(&mut self, rolled_back: bool) -> Step {
        self.done = self.event.take().map(|event| (event.kind, rolled_back));
        self.phase = Phase::Idle;
        Step::Done
    }
}

impl Machine for TpccMachine {
    fn step(&mut self, answer: Option<Answer<'_>>, params: &mut Params) -> Step {
        params.clear();
        match (answer, self.phase) {
            (None, _) | (Some(_), Phase::Idle) => self.begin(),
            (Some(answer), Phase::Inside) => self.go_on(answer, params),
            (Some(_), Phase::Ending { rolls_back }) => self.ended(rolls_back),
        }
    }

    /// The next event is the same transaction with the same input.
    fn abandon(&mut self) {
        self.phase = Phase::Idle;
        let Some(mut event) = self.event.take() else { return };
        event.attempts += 1;
        if event.attempts < MOST_ATTEMPTS {
            event.transaction.get().restart();
            self.event = Some(event);
        } else {
            self.upcoming = Some(event.kind);
        }
    }

    fn in_transaction(&self) -> bool {
        self.phase != Phase::Idle
    }

    fn reads_rows(&self) -> bool {
        true
    }

    fn needs_answer(&self) -> bool {
        match (self.phase, &self.event) {
            (Phase::Inside, Some(event)) => event.transaction.needs_answer(),
            _ => true,
        }
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.done.map_or(&[], |(kind, rolled_back)| kind.names(rolled_back))
    }

    fn pause(&mut self) -> Nanos {
        let Some(pace) = &mut self.pace else { return Nanos::ZERO };
        let next = match &self.event {
            Some(event) => event.kind,
            None => *self.upcoming.get_or_insert_with(|| self.deck.draw()),
        };
        pace.between(self.done.map(|done| done.0), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn homes(warehouses: u64, users: u64) -> Vec<Vec<u64>> {
        let of_user = |user| {
            let home = Home::new(warehouses, user, users);
            (0..home.count).map(|place| home.first + home.stride * place).collect()
        };
        (0..users).map(of_user).collect()
    }

    #[test]
    fn users_are_dealt_out_to_the_warehouses() {
        assert_eq!(homes(2, 5), [[1], [2], [1], [2], [1]]);
        assert_eq!(homes(5, 2), [vec![1, 3, 5], vec![2, 4]]);
        assert_eq!(homes(3, 3), [[1], [2], [3]]);
        let mut all = homes(97, 16).concat();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=97));
    }

    #[test]
    fn the_users_of_a_warehouse_ask_for_districts_of_their_own() {
        let districts: Vec<i64> = (0..20).map(|user| Home::new(2, user, 20).district).collect();
        let of_first: Vec<i64> = districts.into_iter().step_by(2).collect();
        assert_eq!(of_first, (1..=10).collect::<Vec<_>>());
    }
}
