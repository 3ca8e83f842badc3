//! Texts of letters and digits that are drawn.

use crate::random::Random;

/// Letters of both cases and digits, in the order of ASCII.
pub(crate) const ALPHANUMERIC: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) const DIGITS: &[u8] = ALPHANUMERIC.split_at(10).0;
pub(crate) const CAPITALS: &[u8] = ALPHANUMERIC.split_at(10).1.split_at(26).0;

/// Append so many characters of the alphabet. Several of each 64 random bits: half of what a load of TPC-C
/// costs is spent in here.
pub(crate) fn push_of(alphabet: &[u8], length: u64, random: &mut Random, out: &mut Vec<u8>) {
    let base = alphabet.len() as u128;
    let mut left = length;
    while left > 0 {
        let mut fraction = random.bits();
        for _ in 0..left.min(8) {
            let product = u128::from(fraction) * base;
            out.push(alphabet[(product >> 64) as usize]);
            fraction = product as u64;
        }
        left = left.saturating_sub(8);
    }
}
