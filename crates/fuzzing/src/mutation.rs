//! Mutations of a corpus's inputs.

/// Longer inputs hold nothing new.
const LONGEST: usize = 4096;
/// Numbers at which lengths and markers change their meaning.
const EDGES: [u8; 12] = [0, 1, 2, 3, 4, 0x7f, 0x80, 0xfa, 0xfb, 0xfc, 0xfe, 0xff];

/// One of the inputs, changed in some places.
pub(crate) fn mutated(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(6) {
            0 => input.insert(at, random.next() as u8),
            1 => input.insert(at, EDGES[random.below(EDGES.len())]),
            2 if at < input.len() => drop(input.remove(at)),
            3 if at < input.len() => input[at] = EDGES[random.below(EDGES.len())],
            4 if at < input.len() => input[at] ^= 1 << random.below(8),
            _ => splice(&mut input, at, &corpus[random.below(corpus.len())], random),
        }
    }
    input.truncate(LONGEST);
    input
}

/// Inserts a part of another input.
fn splice(input: &mut Vec<u8>, at: usize, other: &[u8], random: &mut Random) {
    let from = random.below(other.len() + 1);
    let to = from + random.below(other.len() - from + 1);
    input.splice(at..at, other[from..to].iter().copied());
}

/// Marsaglia's xorshift, so that a seed determines the inputs.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}
