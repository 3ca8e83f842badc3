//! The non-uniform random numbers of TPC-C (clause 2.1.6).

use crate::random::{Purpose, Random};

/// The C of the customers' last names when the tables were loaded. It is the same for all loads: a
/// run must keep its distance from it, and does not know the seed of the load.
const LAST_NAME_LOADED: u64 = 157;

/// Clause 2.1.6.1: the least distance of a run's C from that of the load.
const LEAST_DISTANCE: u64 = 65;
const GREATEST_DISTANCE: u64 = 119;
const FORBIDDEN_DISTANCES: [u64; 2] = [96, 112];

/// The A that belongs to each range (clause 2.1.6).
const A_LAST_NAME: u64 = 255;
const A_CUSTOMER: u64 = 1_023;
const A_ITEM: u64 = 8_191;

/// A number of `x..=y`, some of which occur more often than others (clause 2.1.6).
fn nurand(a: u64, c: u64, (x, y): (u64, u64), random: &mut Random) -> u64 {
    (((random.within(0, a) | random.within(x, y)) + c) % (y - x + 1)) + x
}

/// The number of a last name in the loaded tables.
pub(super) fn loaded_last_name(random: &mut Random) -> u64 {
    nurand(A_LAST_NAME, LAST_NAME_LOADED, (0, 999), random)
}

/// The constants C of a run, the same for all its users.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Constants {
    last_name: u64,
    customer: u64,
    item: u64,
}

impl Constants {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, Purpose::Constants, &[]);
        let allowed: Vec<u64> = (0..=A_LAST_NAME).filter(|&c| is_far_enough(c)).collect();
        Self {
            last_name: allowed[random.below(allowed.len() as u64) as usize],
            customer: random.within(0, A_CUSTOMER),
            item: random.within(0, A_ITEM),
        }
    }

    /// The number of a last name.
    pub(super) fn last_name(&self, random: &mut Random) -> u64 {
        nurand(A_LAST_NAME, self.last_name, (0, 999), random)
    }

    /// A customer of a district.
    pub(super) fn customer(&self, random: &mut Random) -> u64 {
        nurand(A_CUSTOMER, self.customer, (1, super::CUSTOMERS), random)
    }

    /// An item.
    pub(super) fn item(&self, random: &mut Random) -> u64 {
        nurand(A_ITEM, self.item, (1, super::ITEMS), random)
    }
}

fn is_far_enough(last_name: u64) -> bool {
    let distance = last_name.abs_diff(LAST_NAME_LOADED);
    (LEAST_DISTANCE..=GREATEST_DISTANCE).contains(&distance)
        && !FORBIDDEN_DISTANCES.contains(&distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random() -> Random {
        Random::new(42, Purpose::Keys, &[1])
    }

    #[test]
    fn the_constant_of_a_run_keeps_its_distance_to_that_of_the_load() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..2_000 {
            let constants = Constants::new(seed);
            let distance = constants.last_name.abs_diff(LAST_NAME_LOADED);
            assert!((65..=119).contains(&distance), "{distance}");
            assert!(distance != 96 && distance != 112, "{distance}");
            assert!(constants.last_name <= 255 && constants.customer <= 1023);
            assert!(constants.item <= 8191);
            seen.insert(constants.last_name);
        }
        assert!(seen.len() > 50, "{} constants", seen.len());
        assert_eq!(Constants::new(7), Constants::new(7));
    }

    /// The distribution by definition, summed over all pairs of the two drawn numbers.
    fn expected(a: u64, c: u64, (x, y): (u64, u64)) -> Vec<f64> {
        let span = y - x + 1;
        let mut shares = vec![0.0; span as usize];
        let each = 1.0 / ((a + 1) as f64 * span as f64);
        for first in 0..=a {
            for second in x..=y {
                shares[(((first | second) + c) % span) as usize] += each;
            }
        }
        shares
    }

    #[test]
    fn numbers_come_as_often_as_the_definition_says() {
        let draws = 400_000;
        for (a, c, range) in [(255, 157, (0, 999)), (1_023, 259, (1, 3_000))] {
            let shares = expected(a, c, range);
            let mut counts = vec![0.0; shares.len()];
            let mut random = random();
            for _ in 0..draws {
                let drawn = nurand(a, c, range, &mut random);
                assert!((range.0..=range.1).contains(&drawn));
                counts[(drawn - range.0) as usize] += 1.0;
            }
            let of_share = |(count, share): (&f64, &f64)| {
                let wanted = share * f64::from(draws);
                if wanted < 5.0 { 0.0 } else { (count - wanted).powi(2) / wanted }
            };
            let chi_squared: f64 = counts.iter().zip(&shares).map(of_share).sum();
            // Its mean is the number of cells, its deviation the root of twice that.
            let cells = shares.len() as f64;
            assert!(chi_squared < cells + 5.0 * (2.0 * cells).sqrt(), "{chi_squared} of {cells}");
            // And it is not flat: a uniform one would differ a hundredfold.
            let flat: f64 = shares.iter().map(|share| (share * cells - 1.0).powi(2)).sum();
            assert!(flat > cells / 10.0);
        }
    }

    #[test]
    fn items_and_customers_stay_in_their_ranges() {
        let (constants, mut random) = (Constants::new(1), random());
        for _ in 0..100_000 {
            assert!((1..=100_000).contains(&constants.item(&mut random)));
            assert!((1..=3_000).contains(&constants.customer(&mut random)));
            assert!(constants.last_name(&mut random) <= 999);
            assert!(loaded_last_name(&mut random) <= 999);
        }
    }
}
