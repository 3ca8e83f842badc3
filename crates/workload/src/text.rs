//! Texts for rows and parameters: numbers in decimal, random letters and digits, and the strings of
//! the sbtest tables, which are groups of eleven digits with hyphens between them.
//!
//! `c` has ten groups (119 bytes in a `CHAR(120)`), `pad` five (59 bytes in a `CHAR(60)`), every
//! digit uniform, as in sysbench's tables.

use crate::random::Random;

/// Groups in the column `c`.
pub(crate) const C_GROUPS: usize = 10;
/// Groups in the column `pad`.
pub(crate) const PAD_GROUPS: usize = 5;

/// A group and the hyphen after it.
const GROUP_WIDTH: usize = 12;

/// The numbers below 1000 as three digits each, with the hyphen that may follow. Looking up three
/// digits at a time takes a third of the work of computing them, and the table fits in the
/// processor's first cache. It is longer than its numbers so that no index of ten bits is out of
/// bounds.
static TRIPLES: [[u8; 4]; 1024] = triples();

const fn triples() -> [[u8; 4]; 1024] {
    let mut table = [[b'-'; 4]; 1024];
    let mut number = 0;
    while number < 1000 {
        table[number][0] = b'0' + (number / 100) as u8;
        table[number][1] = b'0' + (number / 10 % 10) as u8;
        table[number][2] = b'0' + (number % 10) as u8;
        number += 1;
    }
    table
}

/// Appends `groups` groups.
#[inline]
pub(crate) fn push_groups(groups: usize, random: &mut Random, out: &mut Vec<u8>) {
    // In place and with the length set once: growing the vector group by group costs as much as
    // drawing.
    let start = out.len();
    out.resize(start + groups * GROUP_WIDTH, b'-');
    for place in out[start..].as_chunks_mut().0 {
        *place = group_of(random.bits());
    }
    // Removes the hyphen after the last group.
    out.pop();
}

/// Appends a number in decimal: several times as fast as formatting it, and a statement or row has
/// several.
#[inline]
pub(crate) fn push_decimal(value: i64, out: &mut Vec<u8>) {
    const LONGEST: usize = "-9_223_372_036_854_775_808".len();
    let mut text = [b'-'; LONGEST];
    let (mut start, mut rest) = (LONGEST, value.unsigned_abs());
    loop {
        start -= 3;
        text[start..start + 3].copy_from_slice(&TRIPLES[(rest % 1000) as usize][..3]);
        if rest < 1000 {
            break;
        }
        rest /= 1000;
    }
    start += usize::from(rest < 100) + usize::from(rest < 10);
    if value < 0 {
        start -= 1;
        text[start] = b'-';
    }
    out.extend_from_slice(&text[start..]);
}

/// The eleven digits of `bits * 10^11 / 2^64`: each multiplication moves the next digits above the
/// point and leaves the rest below it.
#[inline]
fn group_of(bits: u64) -> [u8; GROUP_WIDTH] {
    let (first, rest) = above_point(bits, 1000);
    let (second, rest) = above_point(rest, 1000);
    let (third, rest) = above_point(rest, 1000);
    let (last_two, _) = above_point(rest, 100);
    let mut group = [0; GROUP_WIDTH];
    // Each overwrites the hyphen of the one before it.
    group[..4].copy_from_slice(&first);
    group[3..7].copy_from_slice(&second);
    group[6..10].copy_from_slice(&third);
    group[9..].copy_from_slice(&last_two[1..]);
    group
}

#[inline]
fn above_point(fraction: u64, by: u64) -> ([u8; 4], u64) {
    let product = u128::from(fraction) * u128::from(by);
    (TRIPLES[(product >> 64) as usize], product as u64)
}

/// Letters of both cases and digits, in the order of ASCII.
pub(crate) const ALPHANUMERIC: &[u8; 62] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

pub(crate) const DIGITS: &[u8] = ALPHANUMERIC.split_at(10).0;
pub(crate) const CAPITALS: &[u8] = ALPHANUMERIC.split_at(10).1.split_at(26).0;

/// Appends this many characters of the alphabet. Several come from each 64 random bits: half of the
/// cost of a TPC-C load is spent in here.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use proptest::prelude::*;

    fn in_long_hand(bits: u64) -> String {
        let number = (u128::from(bits) * 100_000_000_000) >> 64;
        format!("{number:011}-")
    }

    proptest! {
        #[test]
        fn a_group_is_the_scaled_number(bits: u64) {
            let expected = in_long_hand(bits);
            prop_assert_eq!(&group_of(bits)[..], expected.as_bytes());
        }
    }

    proptest! {
        #[test]
        fn decimals_are_those_of_the_number(value: i64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            push_decimal(value, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn the_least_number_has_room() {
        let mut out = Vec::new();
        push_decimal(i64::MIN, &mut out);
        assert_eq!(out, i64::MIN.to_string().as_bytes());
    }

    #[test]
    fn edges_have_the_right_digits() {
        for bits in [0, 1, u64::MAX / 1000, u64::MAX / 1000 + 1, 1 << 63, u64::MAX] {
            assert_eq!(&group_of(bits)[..], in_long_hand(bits).as_bytes());
        }
        for value in [0, 9, 10, 99, 100, 999, 1000, 1001, 999_999, 1_000_000, -1, -10, -999, -1000]
        {
            let mut out = Vec::new();
            push_decimal(value, &mut out);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }

    #[test]
    fn c_and_pad_have_their_lengths() {
        let mut random = Random::new(1, Purpose::Values, &[]);
        for (groups, length) in [(C_GROUPS, 119), (PAD_GROUPS, 59)] {
            let mut out = Vec::new();
            push_groups(groups, &mut random, &mut out);
            assert_eq!(out.len(), length);
            assert!(out.split(|byte| *byte == b'-').all(|group| group.len() == 11));
        }
    }
}
