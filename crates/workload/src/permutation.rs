//! Random permutations of which any element can be computed alone.

/// A random permutation of `0..size` of which any element can be computed without the others: the
/// customers of a district's orders (clause 4.3.3.1), wherever loading resumes.
///
/// Four rounds of a Feistel network permute the next larger power of four, and results outside of
/// the range are permuted again until they are inside (M. Luby, C. Rackoff; J. Black, P. Rogaway).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Permutation {
    size: u64,
    half_bits: u32,
    key: u64,
}

impl Permutation {
    pub(crate) fn new(size: u64, key: u64) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        Self { size, half_bits: bits.div_ceil(2).max(1), key }
    }

    /// The element at `place`, which is below the size.
    pub(crate) fn at(&self, place: u64) -> u64 {
        let mut value = place;
        loop {
            value = self.permuted(value);
            if value < self.size {
                return value;
            }
        }
    }

    fn permuted(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 0..4 {
            let mixed = mix(right ^ self.key.rotate_left(16 * round)) & mask;
            (left, right) = (right, left ^ mixed);
        }
        left << self.half_bits | right
    }
}

/// The finalizer of MurmurHash3 for 64 bits.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let value = (value ^ (value >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    value ^ (value >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_comes_once() {
        for (size, key) in [(3_000, 1), (3_000, 0xdead_beef_0123_4567), (1, 9), (2, 9), (4_096, 3)]
        {
            let permutation = Permutation::new(size, key);
            let mut all: Vec<u64> = (0..size).map(|place| permutation.at(place)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..size), "{size}");
        }
    }

    #[test]
    fn keys_give_orders_of_their_own() {
        let order =
            |key| (0..3_000).map(|at| Permutation::new(3_000, key).at(at)).collect::<Vec<_>>();
        let (one, other) = (order(1), order(2));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        let in_place = (0..3_000).zip(&one).filter(|(place, at)| place == *at).count();
        // One each is what chance gives.
        assert!(same < 10 && in_place < 10, "{same} {in_place}");
    }
}
