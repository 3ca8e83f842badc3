//! Reads expressions. From the loosest to the tightest: OR, AND, NOT, IS, comparisons, bits, sums,
//! products, signs; what is equally tight goes from left to right.

use super::expression::Expression;
use super::function::{Arity, Function, named};
use super::lexer::{Token, tokens};
use super::value::Value;
use super::variables::Names;

/// More than this in one another is somebody's attack on the stack.
const DEEPEST: usize = 200;

/// So are more operators than this in one expression: each is one level of its tree.
const MOST_OPERATORS: usize = 1000;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A sign that the language does not have.
    #[error("unexpected character at column {0}")]
    Character(usize),
    /// Something else stands where `expected` should.
    #[error("{found} stands where {expected} is expected")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// No such function.
    #[error("there is no function {0}")]
    UnknownFunction(String),
    /// A function with another number of parameters.
    #[error("{0} has another number of parameters")]
    Arity(String),
    /// Expressions in one another, too many of them.
    #[error("too many parentheses in one another")]
    TooDeep,
    /// A chain of operators, too long.
    #[error("too many operators in one expression")]
    TooLong,
    /// More variables than a script may have.
    #[error("too many variables")]
    TooManyVariables,
}

impl Expression {
    /// Reads an expression; variables get their places in `names`.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, ParseError> {
        let tokens = tokens(text).map_err(|place| ParseError::Character(place + 1))?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, operators: 0, names };
        let found = parser.either()?;
        match parser.peek() {
            None => Ok(found),
            Some(_) => Err(parser.unexpected("the end")),
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    operators: usize,
    names: &'a mut Names,
}

type Parsed = Result<Expression, ParseError>;

/// Operators that are equally tight, and their functions; `true`: the operands change places.
type Level = &'static [(&'static str, Function, bool)];

const COMPARISONS: Level = &[
    ("=", Function::Equal, false),
    ("<>", Function::Unequal, false),
    ("!=", Function::Unequal, false),
    ("<=", Function::LessOrEqual, false),
    (">=", Function::LessOrEqual, true),
    ("<", Function::Less, false),
    (">", Function::Less, true),
];
const BITS: Level = &[
    ("|", Function::BitOr, false),
    ("#", Function::BitXor, false),
    ("&", Function::BitAnd, false),
    ("<<", Function::ShiftLeft, false),
    (">>", Function::ShiftRight, false),
];
const SUMS: Level = &[("+", Function::Add, false), ("-", Function::Subtract, false)];
const PRODUCTS: Level = &[
    ("*", Function::Multiply, false),
    ("/", Function::Divide, false),
    ("%", Function::Modulo, false),
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn unexpected(&self, expected: &'static str) -> ParseError {
        let found = match self.peek() {
            None => "the end".to_owned(),
            Some(Token::Sign(sign)) => format!("{sign:?}"),
            Some(Token::Word(word)) => format!("{word:?}"),
            Some(Token::Variable(name)) => format!("\":{name}\""),
            Some(_) => "a number".to_owned(),
        };
        ParseError::Unexpected { found, expected }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(is_it);
        is_it
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Some(Token::Sign(found)) if *found == sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn grow(&mut self) -> Result<(), ParseError> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS { Err(ParseError::TooLong) } else { Ok(()) }
    }

    fn either(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ParseError::TooDeep);
        }
        let mut left = self.both()?;
        while self.takes_word("or") {
            self.grow()?;
            left = Expression::Or(Box::new([left, self.both()?]));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn both(&mut self) -> Parsed {
        let mut left = self.negation()?;
        while self.takes_word("and") {
            self.grow()?;
            left = Expression::And(Box::new([left, self.negation()?]));
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed {
        let mut times = 0_usize;
        while self.takes_word("not") {
            times += 1;
        }
        let found = self.test()?;
        Ok(match times {
            0 => found,
            // Twice is not nothing: the operand must be a boolean.
            odd if odd % 2 == 1 => not(found),
            _ => not(not(found)),
        })
    }

    /// Behind a comparison: `IS [NOT] NULL | TRUE | FALSE`, ISNULL, NOTNULL.
    fn test(&mut self) -> Parsed {
        let left = self.level(COMPARISONS, |parser| {
            parser.level(BITS, |parser| {
                parser.level(SUMS, |parser| parser.level(PRODUCTS, Self::signed))
            })
        })?;
        if self.takes_word("isnull") {
            return Ok(is(left, Value::Null));
        }
        if self.takes_word("notnull") {
            return Ok(not(is(left, Value::Null)));
        }
        if !self.takes_word("is") {
            return Ok(left);
        }
        let negated = self.takes_word("not");
        let tested = self.truth().ok_or_else(|| self.unexpected("NULL, TRUE or FALSE"))?;
        let found = is(left, tested);
        Ok(if negated { not(found) } else { found })
    }

    fn truth(&mut self) -> Option<Value> {
        for (word, value) in
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
        {
            if self.takes_word(word) {
                return Some(value);
            }
        }
        None
    }

    fn level(&mut self, level: Level, tighter: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = tighter(self)?;
        'more: loop {
            for &(sign, function, turned) in level {
                if self.takes_sign(sign) {
                    self.grow()?;
                    let right = tighter(self)?;
                    let both = if turned { vec![right, left] } else { vec![left, right] };
                    left = Expression::Call(function, both);
                    continue 'more;
                }
            }
            return Ok(left);
        }
    }

    fn signed(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(ParseError::TooDeep);
        }
        let found = self.signed_at_depth();
        self.depth -= 1;
        found
    }

    fn signed_at_depth(&mut self) -> Parsed {
        if self.takes_sign("-") {
            if matches!(self.peek(), Some(Token::IntBeyond)) {
                self.at += 1;
                return Ok(Expression::Constant(Value::Int(i64::MIN)));
            }
            let zero = Expression::Constant(Value::Int(0));
            return Ok(Expression::Call(Function::Subtract, vec![zero, self.signed()?]));
        }
        if self.takes_sign("+") {
            return self.signed();
        }
        if self.takes_sign("~") {
            let ones = Expression::Constant(Value::Int(-1));
            return Ok(Expression::Call(Function::BitXor, vec![ones, self.signed()?]));
        }
        self.single()
    }

    fn single(&mut self) -> Parsed {
        if let Some(value) = self.truth() {
            return Ok(Expression::Constant(value));
        }
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected("a value")) };
        match token {
            Token::Int(value) => self.constant(Value::Int(value)),
            Token::Double(value) => self.constant(Value::Double(value)),
            Token::Variable(name) => {
                self.at += 1;
                let place = self.names.place(&name).ok_or(ParseError::TooManyVariables)?;
                Ok(Expression::Variable(place))
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.either()?;
                self.must_take(")", "\")\"")?;
                Ok(inner)
            }
            Token::Word(word) if word == "case" => {
                self.at += 1;
                self.case()
            }
            Token::Word(word) => {
                self.at += 1;
                self.call(&word)
            }
            Token::Sign(_) | Token::IntBeyond => Err(self.unexpected("a value")),
        }
    }

    fn constant(&mut self, value: Value) -> Parsed {
        self.at += 1;
        Ok(Expression::Constant(value))
    }

    fn must_take(&mut self, sign: &str, expected: &'static str) -> Result<(), ParseError> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn call(&mut self, name: &str) -> Parsed {
        let (function, arity) =
            named(name).ok_or_else(|| ParseError::UnknownFunction(name.to_owned()))?;
        self.must_take("(", "\"(\"")?;
        let mut given = Vec::new();
        if !self.takes_sign(")") {
            loop {
                given.push(self.either()?);
                if !self.takes_sign(",") {
                    break;
                }
            }
            self.must_take(")", "\",\" or \")\"")?;
        }
        let fits = match arity {
            Arity::Exactly(count) => given.len() == count,
            Arity::AtLeastOne => !given.is_empty(),
            Arity::WithSeed(count) if given.len() + 1 == count => {
                let seed = self.names.place(DEFAULT_SEED).ok_or(ParseError::TooManyVariables)?;
                given.push(Expression::Variable(seed));
                true
            }
            Arity::WithSeed(count) => given.len() == count,
        };
        if fits {
            Ok(Expression::Call(function, given))
        } else {
            Err(ParseError::Arity(name.to_owned()))
        }
    }

    fn case(&mut self) -> Parsed {
        let mut whens = Vec::new();
        while self.takes_word("when") {
            let condition = self.either()?;
            if !self.takes_word("then") {
                return Err(self.unexpected("THEN"));
            }
            whens.push((condition, self.either()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = match self.takes_word("else") {
            true => self.either()?,
            false => Expression::Constant(Value::Null),
        };
        if !self.takes_word("end") {
            return Err(self.unexpected("END"));
        }
        Ok(Expression::Case(whens, Box::new(otherwise)))
    }
}

/// The variable with the seed of hashes, the same for all clients of a run.
pub(super) const DEFAULT_SEED: &str = "default_seed";

fn not(operand: Expression) -> Expression {
    Expression::Call(Function::Not, vec![operand])
}

fn is(left: Expression, value: Value) -> Expression {
    Expression::Call(Function::Is, vec![left, Expression::Constant(value)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Expression::parse(text, &mut Names::default()).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_told_by_what_stands_there() {
        for (text, expected) in [
            ("1 +", "the end stands where a value is expected"),
            ("(1", "the end stands where \")\" is expected"),
            ("1 2", "a number stands where the end is expected"),
            ("nope(1)", "there is no function nope"),
            ("abs(1, 2)", "abs has another number of parameters"),
            ("greatest()", "greatest has another number of parameters"),
            ("case else 1 end", "\"else\" stands where WHEN is expected"),
            ("1 is 2", "a number stands where NULL, TRUE or FALSE is expected"),
            ("9223372036854775808", "a number stands where a value is expected"),
            ("1 $ 2", "unexpected character at column 3"),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn nobody_fills_the_stack() {
        let deep = |sign: &str| format!("{}1{}", sign.repeat(100_000), ")".repeat(100_000));
        assert_eq!(error(&deep("(")), "too many parentheses in one another");
        assert_eq!(
            error(&format!("{}1", "-".repeat(100_000))),
            "too many parentheses in one another"
        );
        for sign in ["+", "=", "|", "*", " and ", " or "] {
            let long = format!("1{}", format!("{sign}1").repeat(100_000));
            assert_eq!(error(&long), "too many operators in one expression", "{sign}");
        }
        let many = format!("{}1", "not ".repeat(100_001));
        assert!(Expression::parse(&many, &mut Names::default()).is_ok());
    }
}
