//! Random numbers for scripts: C functions that LuaJIT compiles calls to.
#![expect(unsafe_code, reason = "LuaJIT's FFI calls these functions with the pointer it was given")]

use std::collections::HashMap;
use std::ffi::c_void;

use loadstone_workload::distribution::Sampler;
use loadstone_workload::random::{Purpose, Random};
use loadstone_workload::{Distribution, SpecError, UniqueIds, UniqueWithin};

/// The random numbers of one user.
#[derive(Debug)]
pub(crate) struct Stream {
    random: Random,
    distribution: Distribution,
    unique: UniqueIds,
    /// Those of the ranges that were asked for.
    within: HashMap<(i64, i64), UniqueWithin>,
    /// Seed, number of this user and number of all users.
    seeded: (u64, u64, u64),
    /// The last used sampler; scripts draw from the same range repeatedly.
    last: Option<(u32, u64, Sampler)>,
}

impl Stream {
    /// # Errors
    /// The distribution's parameters are invalid.
    pub(crate) fn new(
        seed: u64,
        distribution: Distribution,
        user: u64,
        users: u64,
    ) -> Result<Self, SpecError> {
        distribution.sampler(1)?;
        Ok(Self {
            random: Random::new(seed, Purpose::Keys, &[user]),
            distribution,
            unique: UniqueIds::new(seed, user, users, 0),
            within: HashMap::new(),
            seeded: (seed, user, users),
            last: None,
        })
    }

    /// The same, but with other numbers than any user's.
    pub(crate) fn apart(mut self) -> Self {
        let (seed, ..) = self.seeded;
        self.random = Random::new(seed, Purpose::Keys, &[u64::MAX]);
        self
    }

    /// A number from `low` to `high`, both inclusive.
    fn draw(&mut self, kind: u32, low: i64, high: i64) -> i64 {
        // With no rows to choose from there is one answer; it is also sysbench's.
        let Some(size) = high.checked_sub(low).and_then(|span| u64::try_from(span).ok()) else {
            return low;
        };
        let size = size.saturating_add(1);
        let sampler = match &self.last {
            Some((known, of, sampler)) if (*known, *of) == (kind, size) => *sampler,
            _ => {
                let Some(sampler) = self.sampler(kind, size) else { return low };
                self.last = Some((kind, size, sampler));
                sampler
            }
        };
        low.wrapping_add(sampler.draw(&mut self.random) as i64).wrapping_sub(1)
    }

    fn sampler(&self, kind: u32, size: u64) -> Option<Sampler> {
        let named = |name: u32| match name {
            0 => Distribution::Uniform {},
            1 => SPECIAL,
            2 => GAUSSIAN,
            3 => PARETO,
            4 => ZIPFIAN,
            _ => self.distribution,
        };
        // The given parameters apply to the distribution that was chosen with them.
        let wanted = named(kind);
        let same = std::mem::discriminant(&wanted) == std::mem::discriminant(&self.distribution);
        let distribution = if same { self.distribution } else { wanted };
        distribution.sampler(size).ok()
    }

    /// Fills in a pattern: `#` becomes a digit and `@` a lower-case letter.
    fn fill(&mut self, pattern: &[u8], out: &mut [u8]) {
        let (mut bits, mut left) = (0_u64, 0);
        for (place, &sign) in out.iter_mut().zip(pattern) {
            *place = match sign {
                b'#' | b'@' => {
                    if left == 0 {
                        (bits, left) = (self.random.bits(), 4);
                    }
                    left -= 1;
                    let part = bits & 0xffff;
                    bits >>= 16;
                    if sign == b'#' { b'0' + scaled(part, 10) } else { b'a' + scaled(part, 26) }
                }
                _ => sign,
            };
        }
    }

    fn unique(&mut self) -> u32 {
        // The ids are signed; scripts shift them there themselves.
        (self.unique.draw() + (1 << 31)) as u32
    }

    fn unique_within(&mut self, low: i64, high: i64) -> i64 {
        let (seed, user, users) = self.seeded;
        let of_range = || UniqueWithin::new(seed, user, users, low, high);
        self.within.entry((low, high)).or_insert_with(of_range).draw()
    }
}

const SPECIAL: Distribution = Distribution::Special { iterations: 12, percent: 1.0, hits: 75.0 };
const GAUSSIAN: Distribution = Distribution::Gaussian { iterations: 12 };
const PARETO: Distribution = Distribution::Pareto { h: 0.2 };
const ZIPFIAN: Distribution = Distribution::Zipfian { exponent: 0.8 };

/// A number of `0..bound` from 16 random bits; off by less than one in two thousand draws.
fn scaled(bits: u64, bound: u64) -> u8 {
    ((bits * bound) >> 16) as u8
}

/// The functions' names in `random.lua`, and their addresses.
pub(crate) fn functions() -> [(&'static str, *mut c_void); 6] {
    [
        ("draw", draw as *mut c_void),
        ("bits", bits as *mut c_void),
        ("unit", unit as *mut c_void),
        ("unique", unique as *mut c_void),
        ("unique_within", unique_within as *mut c_void),
        ("fill", fill as *mut c_void),
    ]
}

// Their callers, which are `random.lua` alone, promise this of the pointer: it is that of a user's
// stream, which its state keeps as long as it lives, and no two of these calls run at once, as a
// state runs in one thread and nothing here calls back.

/// Fractions are cut off; nobody asks for a 64-bit number that Lua cannot hold.
unsafe extern "C" fn draw(stream: *mut Stream, kind: f64, low: f64, high: f64) -> f64 {
    // SAFETY: as promised above.
    unsafe { &mut *stream }.draw(kind as u32, low as i64, high as i64) as f64
}

unsafe extern "C" fn bits(stream: *mut Stream) -> u64 {
    // SAFETY: as promised above.
    unsafe { &mut *stream }.random.bits()
}

unsafe extern "C" fn unit(stream: *mut Stream) -> f64 {
    // SAFETY: as promised above.
    unsafe { &mut *stream }.random.unit()
}

unsafe extern "C" fn unique(stream: *mut Stream) -> u32 {
    // SAFETY: as promised above.
    unsafe { &mut *stream }.unique()
}

/// Fractions are cut off.
unsafe extern "C" fn unique_within(stream: *mut Stream, low: f64, high: f64) -> f64 {
    // SAFETY: as promised above.
    unsafe { &mut *stream }.unique_within(low as i64, high as i64) as f64
}

unsafe extern "C" fn fill(stream: *mut Stream, pattern: *const u8, length: usize, out: *mut u8) {
    if length == 0 {
        return;
    }
    // SAFETY: as promised above; `random.lua` passes a string with its length, and a buffer of the
    // same length.
    let (stream, pattern, out) = unsafe {
        (
            &mut *stream,
            std::slice::from_raw_parts(pattern, length),
            std::slice::from_raw_parts_mut(out, length),
        )
    };
    stream.fill(pattern, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Stream::new(42, Distribution::default(), 0, 1).expect("the default is right")
    }

    #[test]
    fn draws_stay_within_both_ends_and_reach_them() {
        let mut stream = stream();
        for kind in 0..=5 {
            let drawn: Vec<i64> = (0..2000).map(|_| stream.draw(kind, -2, 2)).collect();
            assert!(drawn.iter().all(|value| (-2..=2).contains(value)), "kind {kind}: {drawn:?}");
        }
        let uniform: Vec<i64> = (0..2000).map(|_| stream.draw(0, 5, 7)).collect();
        assert!([5, 6, 7].iter().all(|value| uniform.contains(value)));
        assert_eq!(stream.draw(0, 9, 3), 9, "an empty range");
        assert!(stream.draw(0, i64::MIN, i64::MAX) == i64::MIN, "a range that does not fit");
    }

    #[test]
    fn a_pattern_is_filled_sign_by_sign() {
        let mut text = [0; 16];
        stream().fill(b"###########-@@@x", &mut text);
        assert!(text[..11].iter().all(u8::is_ascii_digit), "{text:?}");
        assert_eq!((text[11], text[15]), (b'-', b'x'));
        assert!(text[12..15].iter().all(u8::is_ascii_lowercase), "{text:?}");
    }
}
