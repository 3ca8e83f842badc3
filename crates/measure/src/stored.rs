//! A histogram as an interval log stores it: version 2 of HdrHistogram's encoding (its wiki, "HdrHistogram V2 encoding").
//!
//! Only the non-empty buckets are read. The library would create a histogram of 270 KB for each
//! line and scan all of its counts, which the head of a cluster cannot afford thousands of times a
//! second; and it allocates as much as a line claims to have (4 GB).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::{Decompress, FlushDecompress, Status};

/// Three significant digits over the whole range, from one nanosecond on: coarser steps at the bottom
/// (1 µs) would save a quarter of 270 KB and round a 30 µs answer to two digits.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 3;

/// The magic number of a histogram.
const PLAIN: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();

/// The magic number of a deflated one; a length follows, which nothing depends on.
const PACKED: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();

/// The header before the counts: cookie, their length, an offset, digits, the least and the highest
/// value, a ratio.
const HEAD_BYTES: usize = 40;

/// The highest value of a histogram that grows as needed.
const HIGHEST: u64 = i64::MAX as u64;

/// Bytes of an unpacked histogram: 56,320 counts of nine bytes are the most that three digits take.
const LARGEST: usize = 512 * 1024;

/// Bytes of the longest number: the ninth byte has eight bits of it.
const LONGEST: u32 = 9;

/// Values that a histogram does not distinguish, and how often they occurred (at least once).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// The least of these values.
    pub(crate) lowest: u64,
    /// The number of different values.
    pub(crate) width: u64,
    /// How often they occurred.
    pub(crate) count: u64,
}

impl Bucket {
    /// The greatest of these values.
    pub(crate) fn highest(&self) -> u64 {
        self.lowest + (self.width - 1)
    }

    /// The value that stands for all of them: the upper one of the two in the middle.
    pub(crate) fn middle(&self) -> u64 {
        self.lowest + self.width / 2
    }
}

/// Why a text is not a histogram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// Not base64.
    NotBase64,
    /// Other data, or incomplete.
    Damaged,
}

/// Reads histograms one after another, reusing its memory.
pub(crate) struct Unpacker {
    bytes: Vec<u8>,
    plain: Vec<u8>,
    inflate: Decompress,
}

impl Unpacker {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), plain: Vec::new(), inflate: Decompress::new(true) }
    }

    /// The non-empty buckets, in rising order, of a histogram from an untrusted source.
    pub(crate) fn buckets(&mut self, text: &str) -> Result<Vec<Bucket>, Unreadable> {
        self.bytes.clear();
        BASE64.decode_vec(text, &mut self.bytes).map_err(|_| Unreadable::NotBase64)?;
        self.unpacked().and_then(counted).ok_or(Unreadable::Damaged)
    }

    fn unpacked(&mut self) -> Option<&[u8]> {
        let Some(rest) = self.bytes.strip_prefix(&PACKED) else {
            return (self.bytes.len() <= LARGEST).then_some(&self.bytes);
        };
        let packed = rest.get(4..)?;
        self.inflate.reset(true);
        self.plain.clear();
        self.plain.reserve_exact(LARGEST + 1);
        loop {
            let taken = self.inflate.total_in() as usize;
            let given = self.plain.len();
            let status = self
                .inflate
                .decompress_vec(packed.get(taken..)?, &mut self.plain, FlushDecompress::Finish)
                .ok()?;
            let moved = self.inflate.total_in() as usize > taken || self.plain.len() > given;
            // A stream that ends too early may still have all counts: their length shows it.
            if status == Status::StreamEnd || !moved {
                break;
            }
        }
        (self.plain.len() <= LARGEST).then_some(&self.plain)
    }
}

/// The values that an index stands for. In HdrHistogram's layout, the first bucket has all of its
/// cells; each further one is twice as coarse and has only the upper half.
struct Layout {
    unit_bits: u32,
    half_bits: u32,
    cells: u64,
}

impl Layout {
    /// The layout for the least distinguishable value, the highest one, and the digits; `None` if
    /// no histogram has these.
    fn new(least: u64, highest: u64, digits: u32) -> Option<Self> {
        let is_range = least >= 1 && highest <= HIGHEST && highest / 2 >= least;
        if !is_range || digits > u32::from(SIGNIFICANT_DIGITS) {
            return None;
        }
        let apart = 2 * 10_u64.pow(digits);
        let (unit_bits, cell_bits) = (least.ilog2(), apart.next_power_of_two().ilog2());
        let finest_bits = unit_bits + cell_bits;
        // Each bucket extends twice as far as the one before.
        let buckets = (highest.ilog2() + 1).saturating_sub(finest_bits) + 1;
        let half_bits = cell_bits - 1;
        (finest_bits < i64::BITS).then_some(Self {
            unit_bits,
            half_bits,
            cells: u64::from(buckets + 1) << half_bits,
        })
    }

    fn bucket(&self, index: u64, count: u64) -> Option<Bucket> {
        if index >= self.cells {
            return None;
        }
        let half = 1 << self.half_bits;
        let coarser = (index >> self.half_bits).saturating_sub(1);
        let cell = if index < half { index } else { index % half + half };
        let bits = self.unit_bits + u32::try_from(coarser).ok()?;
        Some(Bucket { lowest: cell << bits, width: 1 << bits, count })
    }
}

/// Counts are in the order of their indices; a negative one stands for that many empty cells.
fn counted(histogram: &[u8]) -> Option<Vec<Bucket>> {
    let (head, payload) = histogram.split_at_checked(HEAD_BYTES)?;
    let word = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_be_bytes(head.get(at..at + 8)?.try_into().ok()?));
    let is_shifted = word(8)? != 0 || long(32)? != 1.0_f64.to_bits();
    if !head.starts_with(&PLAIN) || is_shifted {
        return None;
    }
    let layout = Layout::new(long(16)?, long(24)?, word(12)?)?;
    let mut left = payload.get(..word(4)? as usize)?;
    let mut index = 0_u64;
    let mut found = Vec::new();
    while !left.is_empty() {
        let next = number(&mut left)?;
        if next > 0 {
            found.push(layout.bucket(index, next.unsigned_abs())?);
        }
        let cells = if next < 0 { next.unsigned_abs() } else { 1 };
        index = index.checked_add(cells)?;
    }
    Some(found)
}

/// The next number: seven bits per byte, the lowest first; the sign is the lowest bit of all.
fn number(left: &mut &[u8]) -> Option<i64> {
    let mut found = 0_u64;
    for place in 0..LONGEST {
        let (&byte, rest) = left.split_first()?;
        *left = rest;
        let is_last = byte & 0x80 == 0 || place + 1 == LONGEST;
        let bits = if place + 1 == LONGEST { byte } else { byte & 0x7f };
        found |= u64::from(bits) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((found >> 1).cast_signed() ^ -(found & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{
        Deserializer, Serializer, V2DeflateSerializer, V2Serializer,
    };
    use proptest::prelude::*;

    use super::*;

    fn buckets(bytes: &[u8]) -> Option<Vec<Bucket>> {
        Unpacker::new().buckets(&BASE64.encode(bytes)).ok()
    }

    fn of_library(histogram: &Histogram<u64>) -> Vec<Bucket> {
        let of = |value| Bucket {
            lowest: histogram.lowest_equivalent(value),
            width: histogram.equivalent_range(value),
            count: histogram.count_at(value),
        };
        histogram.iter_recorded().map(|step| of(step.value_iterated_to())).collect()
    }

    prop_compose! {
        fn histograms()(
            least in 1..100_000_u64, reach in 1..40_u32, digits in 0..=3_u8,
            shares in prop::collection::vec((0.0..=1.0_f64, 1..1_000_000_000_u64), 0..80),
        ) -> Histogram<u64> {
            let highest = (least << reach) + 1;
            let mut histogram = Histogram::new_with_bounds(least, highest, digits).expect("a range");
            for (share, count) in shares {
                // Distributed as latencies are: as many between 1 and 10 as between 10 and 100.
                let value = (highest as f64).powf(share) as u64;
                histogram.record_n(value.min(highest), count).expect("a value of the range");
            }
            histogram
        }
    }

    proptest! {
        #[test]
        fn what_the_library_writes_is_read_as_it_counted(histogram in histograms()) {
            let (mut plain, mut packed) = (Vec::new(), Vec::new());
            V2Serializer::new().serialize(&histogram, &mut plain).expect("memory");
            V2DeflateSerializer::new().serialize(&histogram, &mut packed).expect("memory");
            prop_assert_eq!(buckets(&plain), Some(of_library(&histogram)));
            prop_assert_eq!(buckets(&packed), Some(of_library(&histogram)));
        }

        #[test]
        fn what_is_damaged_is_refused_or_read_as_the_library_does(
            histogram in histograms(), at in 0..HEAD_BYTES + 40, to in any::<u8>(),
        ) {
            let mut plain = Vec::new();
            V2Serializer::new().serialize(&histogram, &mut plain).expect("memory");
            // Neither the length nor the range: the library allocates whatever they say.
            if let Some(byte) = plain.get_mut(at).filter(|_| !(4..HEAD_BYTES).contains(&at)) {
                *byte = to;
            }
            let library = Deserializer::new().deserialize::<u64, _>(&mut plain.as_slice()).ok();
            prop_assert_eq!(buckets(&plain), library.as_ref().map(of_library));
        }

        #[test]
        fn no_bytes_make_reading_panic(
            least in any::<u64>(), highest in any::<u64>(), digits in 0..5_u32, payload in payloads(),
        ) {
            for (least, highest, digits) in [(least, highest, digits), (1, HIGHEST, 3), (1 << 40, HIGHEST, 3)] {
                let plain = histogram(least, highest, digits, &payload);
                let found = buckets(&plain);
                prop_assert_eq!(&found, &buckets(&deflated(&plain)));
                let rising = |pair: &[Bucket]| pair[0].highest() < pair[1].lowest;
                prop_assert!(found.unwrap_or_default().windows(2).all(rising));
            }
        }
    }

    /// Bytes as encoded numbers have them: many with a continuation bit, many with few bits set.
    fn payloads() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0xff_u8), Just(0x80), Just(0), 0..4_u8, any::<u8>()];
        prop::collection::vec(byte, 0..60)
    }

    fn histogram(least: u64, highest: u64, digits: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("a short payload");
        let words = [length.to_be_bytes(), [0; 4], digits.to_be_bytes()].concat();
        let range = [least.to_be_bytes(), highest.to_be_bytes(), 1.0_f64.to_be_bytes()].concat();
        [&PLAIN[..], &words, &range, payload].concat()
    }

    fn deflated(plain: &[u8]) -> Vec<u8> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(plain).expect("a write into memory");
        [&PACKED[..], &[0; 4], &packed.finish().expect("a whole stream")].concat()
    }

    #[test]
    fn cells_beyond_all_that_can_be_numbered_are_refused() {
        // 2^63 empty cells, as many again minus one, and one more that would be the cell 2^64.
        let payload = [&[0xff; 9][..], &[0xfd], &[0xff; 8], &[0x00, 0x02]].concat();
        assert_eq!(buckets(&histogram(1, HIGHEST, 3, &payload)), None);
    }

    #[test]
    fn the_highest_value_of_all_has_a_bucket() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, HIGHEST, 3).expect("a range");
        histogram.record_n(HIGHEST, i64::MAX as u64).expect("a value of the range");
        let mut plain = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut plain).expect("memory");
        let found = buckets(&plain).expect("a histogram");
        assert_eq!((found[0].highest(), found[0].count), (HIGHEST, i64::MAX as u64));
    }
}
