//! Functions and operators, by name and number of parameters.

/// A function or an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`, `mod`
    Modulo,
    /// `=`
    Equal,
    /// `<>`, `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `#`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `NOT`
    Not,
    /// `IS`: whether both are the same, type and value.
    Is,
    /// `abs`
    Abs,
    /// `debug`: shown on stderr, and returned.
    Debug,
    /// `double`
    Double,
    /// `int`
    Int,
    /// `exp`
    Exp,
    /// `ln`
    Ln,
    /// `sqrt`
    Sqrt,
    /// `pi`
    Pi,
    /// `pow`, `power`
    Power,
    /// `greatest`
    Greatest,
    /// `least`
    Least,
    /// `random`
    Random,
    /// `random_exponential`
    RandomExponential,
    /// `random_gaussian`
    RandomGaussian,
    /// `random_zipfian`
    RandomZipfian,
    /// `hash`, `hash_murmur2`
    HashMurmur2,
    /// `hash_fnv1a`
    HashFnv1a,
    /// `permute`
    Permute,
}

/// How many parameters a function has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// The last one is the seed, that of the run if it is left away.
    WithSeed(usize),
}

const NAMED: [(&str, Function, Arity); 21] = {
    use Arity::{AtLeastOne, Exactly, WithSeed};
    [
        ("abs", Function::Abs, Exactly(1)),
        ("debug", Function::Debug, Exactly(1)),
        ("double", Function::Double, Exactly(1)),
        ("exp", Function::Exp, Exactly(1)),
        ("greatest", Function::Greatest, AtLeastOne),
        ("hash", Function::HashMurmur2, WithSeed(2)),
        ("hash_fnv1a", Function::HashFnv1a, WithSeed(2)),
        ("hash_murmur2", Function::HashMurmur2, WithSeed(2)),
        ("int", Function::Int, Exactly(1)),
        ("least", Function::Least, AtLeastOne),
        ("ln", Function::Ln, Exactly(1)),
        ("mod", Function::Modulo, Exactly(2)),
        ("permute", Function::Permute, WithSeed(3)),
        ("pi", Function::Pi, Exactly(0)),
        ("pow", Function::Power, Exactly(2)),
        ("power", Function::Power, Exactly(2)),
        ("random", Function::Random, Exactly(2)),
        ("random_exponential", Function::RandomExponential, Exactly(3)),
        ("random_gaussian", Function::RandomGaussian, Exactly(3)),
        ("random_zipfian", Function::RandomZipfian, Exactly(3)),
        ("sqrt", Function::Sqrt, Exactly(1)),
    ]
};

/// The function of this name, whatever its case.
pub(super) fn named(name: &str) -> Option<(Function, Arity)> {
    let found = NAMED.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name))?;
    Some((found.1, found.2))
}
