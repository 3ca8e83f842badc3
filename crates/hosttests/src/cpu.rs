//! The CPU test: finds prime numbers by trial division.

use crate::error::{HostError, PlanError};
use crate::meter::Meter;
use crate::record::Done;
use crate::work::{Next, Test, Work};
use loadstone_measure::Nanos;
use serde::Deserialize;
use std::hint::black_box;

/// Options of the test.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuPlan {
    /// An event checks all numbers up to this one.
    pub max_prime: u64,
}

impl CpuPlan {
    pub(crate) fn check(&self) -> Result<(), PlanError> {
        // The largest number for which the squares of its divisors fit into 64 bits.
        let most = u64::from(u32::MAX);
        PlanError::unless((1..=most).contains(&self.max_prime), "max_prime", "1 to 4294967295")
    }
}

impl Test for CpuPlan {
    fn work(&self, _thread: u32) -> Result<Box<dyn Work + '_>, HostError> {
        Ok(Box::new(*self))
    }
}

impl Work for CpuPlan {
    fn event(&mut self, from: Nanos, meter: &mut Meter) -> Result<Next, HostError> {
        black_box(odd_primes(black_box(self.max_prime)));
        meter.event(from, &Done::default());
        Ok(Next::Event)
    }
}

/// The number of primes from 3 to `most`. Divides by every number up to the square root, in 64
/// bits: the work that sysbench's figures are based on, not the fastest way.
fn odd_primes(most: u64) -> u64 {
    let mut found = 0;
    for candidate in 3..=most {
        let root = (candidate as f64).sqrt() as u64;
        let mut divisor = 2;
        while divisor <= root && candidate % divisor != 0 {
            divisor += 1;
        }
        found += u64::from(divisor > root);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_numbers_of_primes_come_out() {
        for (most, primes) in [(1, 0), (2, 0), (3, 1), (10, 3), (100, 24), (10_000, 1_228)] {
            assert_eq!(odd_primes(most), primes, "up to {most}");
        }
    }
}
