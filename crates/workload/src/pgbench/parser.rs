//! Reads expressions. From the loosest to the tightest: OR, AND, NOT, IS, comparisons, bits, sums,
//! products, signs; what is equally tight goes from left to right, but of comparisons there is one.

use super::expression::Expression;
use super::function::{Arity, Function, named};
use super::lexer::{Placed, Token, tokens};
use super::value::Value;
use super::variables::Names;

/// More than this in one another is somebody's attack on the stack.
const DEEPEST: usize = 200;

/// So are more operators than this in one expression: each is one level of its tree.
const MOST_OPERATORS: usize = 1000;

/// Why a text is no expression, in pgbench's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .which.as_ref().map(|which| format!(" ({which})")).unwrap_or_default())]
pub struct ParseError {
    /// What is wrong.
    pub what: &'static str,
    /// The function or the text that it is about.
    pub which: Option<String>,
    /// Where the last sign that was read stands, in bytes; `None`: the whole text was read.
    pub at: Option<usize>,
}

impl Expression {
    /// Reads an expression; variables get their places in `names`.
    pub fn parse(text: &str, names: &mut Names) -> Result<Self, ParseError> {
        let tokens = tokens(text);
        let mut parser = Parser { text, tokens: &tokens, at: 0, depth: 0, operators: 0, names };
        let found = parser.either()?;
        match parser.peek() {
            None => Ok(found),
            Some(_) => Err(parser.unexpected()),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Placed],
    at: usize,
    depth: usize,
    operators: usize,
    names: &'a mut Names,
}

type Parsed = Result<Expression, ParseError>;

/// An operator and its function; `true`: the operands change places.
type Operator = (&'static str, Function, bool);

/// Operators that are equally tight.
type Level = &'static [Operator];

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
        self.tokens.get(self.at).map(|placed| &placed.token)
    }

    /// The token that comes next is wrong here, whatever was expected.
    fn unexpected(&self) -> ParseError {
        match self.peek() {
            Some(Token::Wrong(what, which)) => self.wrong(what, which.clone()),
            _ => self.wrong("syntax error", None),
        }
    }

    /// What was read up to the token that comes next is wrong.
    fn wrong(&self, what: &'static str, which: Option<String>) -> ParseError {
        let at = self.tokens.get(self.at).map(|placed| placed.last);
        ParseError { what, which, at }
    }

    /// The token that was read last, as it stands.
    fn last_word(&self) -> &str {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.and_then(|placed| self.text.get(placed.first..=placed.last)).unwrap_or_default()
    }

    /// What was read up to the token before that is wrong.
    fn was_wrong(&self, what: &'static str, which: &str) -> ParseError {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        ParseError { what, which: Some(which.to_owned()), at: before.map(|placed| placed.last) }
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
        if self.operators > MOST_OPERATORS {
            return Err(self.wrong("too many operators in one expression", None));
        }
        Ok(())
    }

    fn either(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many parentheses in one another", None));
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
        let left = self.comparison()?;
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
        let tested = self.truth().ok_or_else(|| self.unexpected())?;
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

    fn comparison(&mut self) -> Parsed {
        let left = self.bits()?;
        match self.takes_operator(COMPARISONS) {
            Some(operator) => self.call_of(operator, left, Self::bits),
            None => Ok(left),
        }
    }

    fn bits(&mut self) -> Parsed {
        self.level(BITS, Self::sum)
    }

    fn sum(&mut self) -> Parsed {
        self.level(SUMS, |parser| parser.level(PRODUCTS, Self::signed))
    }

    fn level(&mut self, level: Level, tighter: impl Fn(&mut Self) -> Parsed) -> Parsed {
        let mut left = tighter(self)?;
        while let Some(operator) = self.takes_operator(level) {
            left = self.call_of(operator, left, &tighter)?;
        }
        Ok(left)
    }

    fn takes_operator(&mut self, level: Level) -> Option<Operator> {
        level.iter().find(|(sign, ..)| self.takes_sign(sign)).copied()
    }

    /// An operator with the operand before it, and the one that follows.
    fn call_of(
        &mut self,
        (_, function, turned): Operator,
        left: Expression,
        tighter: impl Fn(&mut Self) -> Parsed,
    ) -> Parsed {
        self.grow()?;
        let right = tighter(self)?;
        let both = if turned { vec![right, left] } else { vec![left, right] };
        Ok(Expression::Call(function, both))
    }

    fn signed(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("too many parentheses in one another", None));
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
        // It is as loose as the operators of bits.
        if self.takes_sign("~") {
            let ones = Expression::Constant(Value::Int(-1));
            return Ok(Expression::Call(Function::BitXor, vec![ones, self.sum()?]));
        }
        self.single()
    }

    fn single(&mut self) -> Parsed {
        if let Some(value) = self.truth() {
            return Ok(Expression::Constant(value));
        }
        let Some(token) = self.peek().cloned() else { return Err(self.unexpected()) };
        match token {
            Token::Int(value) => self.constant(Value::Int(value)),
            Token::Double(value) => self.constant(Value::Double(value)),
            Token::Variable(name) => {
                self.at += 1;
                self.variable(&name)
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.either()?;
                self.must_take(")")?;
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
            Token::Sign(_) | Token::IntBeyond | Token::Wrong(..) => Err(self.unexpected()),
        }
    }

    fn constant(&mut self, value: Value) -> Parsed {
        self.at += 1;
        Ok(Expression::Constant(value))
    }

    fn variable(&mut self, name: &str) -> Parsed {
        match self.names.place(name) {
            Some(place) => Ok(Expression::Variable(place)),
            None => Err(self.was_wrong("too many variables", name)),
        }
    }

    fn must_take(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn call(&mut self, name: &str) -> Parsed {
        let (function, arity) = named(name)
            .ok_or_else(|| self.was_wrong("unexpected function name", self.last_word()))?;
        self.must_take("(")?;
        let mut given = Vec::new();
        if !self.takes_sign(")") {
            loop {
                given.push(self.either()?);
                if !self.takes_sign(",") {
                    break;
                }
            }
            self.must_take(")")?;
        }
        let fits = match arity {
            Arity::Exactly(count) => given.len() == count,
            Arity::AtLeastOne => !given.is_empty(),
            Arity::WithSeed(count) if given.len() + 1 == count => {
                given.push(self.variable(DEFAULT_SEED)?);
                true
            }
            Arity::WithSeed(count) => given.len() == count,
        };
        match arity {
            _ if fits => Ok(Expression::Call(function, given)),
            Arity::AtLeastOne => Err(self.was_wrong("at least one argument expected", name)),
            _ => Err(self.was_wrong("unexpected number of arguments", name)),
        }
    }

    fn case(&mut self) -> Parsed {
        let mut whens = Vec::new();
        while self.takes_word("when") {
            let condition = self.either()?;
            if !self.takes_word("then") {
                return Err(self.unexpected());
            }
            whens.push((condition, self.either()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = match self.takes_word("else") {
            true => self.either()?,
            false => Expression::Constant(Value::Null),
        };
        if !self.takes_word("end") {
            return Err(self.unexpected());
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
    fn mistakes_are_named_as_pgbench_does() {
        for (text, expected) in [
            ("1 +", "syntax error"),
            ("(1", "syntax error"),
            ("1 2", "syntax error"),
            ("Nope(1)", "unexpected function name (Nope)"),
            ("1 + ü", "unexpected function name (ü)"),
            ("1 ü", "syntax error"),
            ("abs(1, 2)", "unexpected number of arguments (abs)"),
            ("greatest()", "at least one argument expected (greatest)"),
            ("case else 1 end", "syntax error"),
            ("1 is 2", "syntax error"),
            ("1 < 2 < 3", "syntax error"),
            ("1 = 2 <> 3", "syntax error"),
            ("9223372036854775808", "syntax error"),
            ("1 + 1e999", "double constant overflow (1e999)"),
            ("1 $ 2", "unexpected character ($)"),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_where_reading_stopped() {
        for (text, at) in [("1 +", None), ("12 345", Some(5)), ("nope(1)", Some(3)), ("$", Some(0))]
        {
            let error = Expression::parse(text, &mut Names::default()).unwrap_err();
            assert_eq!(error.at, at, "{text}");
        }
    }

    #[test]
    fn nobody_fills_the_stack() {
        let deep = |sign: &str| format!("{}1{}", sign.repeat(100_000), ")".repeat(100_000));
        assert_eq!(error(&deep("(")), "too many parentheses in one another");
        for sign in ["-", "~"] {
            let many = format!("{}1", sign.repeat(100_000));
            assert_eq!(error(&many), "too many parentheses in one another", "{sign}");
        }
        for sign in ["+", "|", "*", " and ", " or "] {
            let long = format!("1{}", format!("{sign}1").repeat(100_000));
            assert_eq!(error(&long), "too many operators in one expression", "{sign}");
        }
        let many = format!("{}1", "not ".repeat(100_001));
        assert!(Expression::parse(&many, &mut Names::default()).is_ok());
    }
}
