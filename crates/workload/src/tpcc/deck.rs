//! The deck that determines which transaction of TPC-C comes next (clause 5.2.4.2).

use crate::random::Random;

/// One of the five transactions.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    /// The names for its latencies; orders that were intentionally rolled back are also counted
    /// separately.
    pub(super) fn names(self, rolled_back: bool) -> &'static [&'static str] {
        match self {
            Self::NewOrder if rolled_back => &["new_order", "new_order_rolled_back"],
            Self::NewOrder => &["new_order"],
            Self::Payment => &["payment"],
            Self::OrderStatus => &["order_status"],
            Self::Delivery => &["delivery"],
            Self::StockLevel => &["stock_level"],
        }
    }
}

/// Cards of each kind: the minimum shares of clause 5.2.3, and New-Order takes the rest.
const MIX: [(Kind, usize); 5] = [
    (Kind::NewOrder, 45),
    (Kind::Payment, 43),
    (Kind::OrderStatus, 4),
    (Kind::Delivery, 4),
    (Kind::StockLevel, 4),
];
const CARDS: usize = 100;

/// A user's cards: drawn one after another, shuffled when all were drawn, so that a hundred
/// transactions of a user have exactly the mix.
#[derive(Debug)]
pub(super) struct Deck {
    cards: [Kind; CARDS],
    next: usize,
    random: Random,
}

impl Deck {
    pub(super) fn new(random: Random) -> Self {
        let mut cards = [Kind::NewOrder; CARDS];
        let all = MIX.iter().flat_map(|&(kind, count)| std::iter::repeat_n(kind, count));
        for (place, kind) in cards.iter_mut().zip(all) {
            *place = kind;
        }
        Self { cards, next: CARDS, random }
    }

    pub(super) fn draw(&mut self) -> Kind {
        if self.next == CARDS {
            self.shuffle();
            self.next = 0;
        }
        let kind = self.cards[self.next];
        self.next += 1;
        kind
    }

    /// Fisher-Yates shuffle.
    fn shuffle(&mut self) {
        for last in (1..CARDS).rev() {
            let chosen = self.random.below(last as u64 + 1) as usize;
            self.cards.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use std::collections::BTreeMap;

    fn drawn(count: usize) -> Vec<Kind> {
        let mut deck = Deck::new(Random::new(42, Purpose::Kinds, &[0]));
        (0..count).map(|_| deck.draw()).collect()
    }

    #[test]
    fn the_mix_is_that_of_the_specification_after_each_hundred() {
        assert_eq!(MIX.iter().map(|one| one.1).sum::<usize>(), CARDS);
        for hundred in drawn(1_000).chunks(CARDS) {
            let mut counts = BTreeMap::new();
            hundred.iter().for_each(|kind| *counts.entry(*kind).or_insert(0) += 1);
            assert_eq!(counts, MIX.into());
        }
    }

    #[test]
    fn every_place_of_the_deck_sees_every_kind() {
        let all = drawn(200_000);
        for place in 0..CARDS {
            let new_orders =
                all.iter().skip(place).step_by(CARDS).filter(|kind| **kind == Kind::NewOrder);
            // 2,000 draws: the deviation is 22.
            assert!(new_orders.count().abs_diff(900) < 120);
        }
    }
}
