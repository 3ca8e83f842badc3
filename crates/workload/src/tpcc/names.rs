//! Last names and random strings of TPC-C (clause 4.3.2).

use crate::random::Random;
use crate::text::{ALPHANUMERIC, CAPITALS, DIGITS, push_of};

/// Clause 4.3.2.3: a last name is three of these, one for each digit of its number.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// Appends the last name of a number below 1000.
pub(super) fn push_last_name(number: u64, out: &mut Vec<u8>) {
    for place in [100, 10, 1] {
        let syllable = SYLLABLES[(number / place % 10) as usize];
        out.extend_from_slice(syllable.as_bytes());
    }
}

/// Appends a random a-string of this many characters (clause 4.3.2.2).
pub(super) fn push_alphanumeric((least, most): (u64, u64), random: &mut Random, out: &mut Vec<u8>) {
    push_of(ALPHANUMERIC, random.within(least, most), random, out);
}

/// Appends a random n-string of this many digits (clause 4.3.2.2).
pub(super) fn push_digits(length: u64, random: &mut Random, out: &mut Vec<u8>) {
    push_of(DIGITS, length, random, out);
}

/// Appends this many capital letters, for a state (clause 4.3.3.1).
pub(super) fn push_letters(length: u64, random: &mut Random, out: &mut Vec<u8>) {
    push_of(CAPITALS, length, random, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    #[test]
    fn last_names_are_those_of_the_specification() {
        let name = |number| {
            let mut out = Vec::new();
            push_last_name(number, &mut out);
            String::from_utf8(out).unwrap()
        };
        // The example of clause 4.3.2.3, the first and the last.
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(40), "BARPRESBAR");
        assert_eq!((name(0), name(999)), ("BARBARBAR".to_owned(), "EINGEINGEING".to_owned()));
        let all: std::collections::HashSet<_> = (0..1000).map(name).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|name| name.len() <= 16));
    }

    #[test]
    fn strings_have_their_lengths_and_all_their_characters() {
        let mut random = Random::new(1, Purpose::Rows, &[]);
        let (mut lengths, mut seen) = (std::collections::BTreeSet::new(), [0_u32; 256]);
        for _ in 0..5_000 {
            let mut out = Vec::new();
            push_alphanumeric((10, 20), &mut random, &mut out);
            lengths.insert(out.len());
            out.iter().for_each(|byte| seen[usize::from(*byte)] += 1);
        }
        assert_eq!(lengths, (10..=20).collect());
        let used: Vec<u32> = seen.into_iter().filter(|count| *count > 0).collect();
        assert_eq!(used.len(), 62);
        let mean = 75_000 / 62;
        assert!(used.iter().all(|count| count.abs_diff(mean) < mean / 5), "{used:?}");
        let mut out = Vec::new();
        push_digits(16, &mut random, &mut out);
        push_letters(2, &mut random, &mut out);
        assert!(out[..16].iter().all(u8::is_ascii_digit));
        assert!(out[16..].iter().all(u8::is_ascii_uppercase) && out.len() == 18);
    }
}
