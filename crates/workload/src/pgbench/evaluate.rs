//! Evaluates expressions. As in SQL, the result of nearly everything with NULL is NULL.

use super::expression::Expression;
use super::function::Function;
use super::permute::permuted;
use super::value::{EvalError, Value};
use super::variables::{Names, Variables};
use crate::random::Random;
use crate::zipf::Zipf;

type Evaluated = Result<Value, EvalError>;

/// pgbench's limit, beyond which a script is read but not run.
const MOST_PARAMETERS: usize = 16;

/// What an expression may look at.
#[derive(Debug)]
pub struct Context<'a> {
    /// The variables' names.
    pub names: &'a Names,
    /// The user's variables.
    pub variables: &'a Variables,
    /// The user's random numbers.
    pub random: &'a mut Random,
    /// What `debug` was given, in its order.
    pub debugged: &'a mut Vec<Value>,
}

impl Expression {
    /// The expression's value.
    ///
    /// # Errors
    /// Those at which pgbench ends a client.
    pub fn evaluate(&self, context: &mut Context<'_>) -> Evaluated {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(place) => context.variables.value(*place, context.names),
            Self::And(sides) => decided(sides, false, context),
            Self::Or(sides) => decided(sides, true, context),
            Self::Case(whens, otherwise) => {
                for (condition, result) in whens {
                    if condition.evaluate(context)?.is_true() {
                        return result.evaluate(context);
                    }
                }
                otherwise.evaluate(context)
            }
            Self::Call(function, parameters) => {
                if parameters.len() > MOST_PARAMETERS {
                    return Err(EvalError::TooManyParameters(MOST_PARAMETERS));
                }
                let mut given = Vec::with_capacity(parameters.len());
                for parameter in parameters {
                    given.push(parameter.evaluate(context)?);
                }
                if *function == Function::Debug {
                    context.debugged.extend_from_slice(&given);
                }
                call(*function, &given, context.random)
            }
        }
    }
}

/// AND and OR with their three truths: `deciding` is the side that decides alone.
fn decided(
    [left, right]: &[Expression; 2],
    deciding: bool,
    context: &mut Context<'_>,
) -> Evaluated {
    let truth = |value: Value| match value {
        Value::Null => Ok(None),
        other => other.bool().map(Some),
    };
    let first = truth(left.evaluate(context)?)?;
    if first == Some(deciding) {
        return Ok(Value::Bool(deciding));
    }
    let second = right.evaluate(context)?;
    if first.is_none() {
        return Ok(if second == Value::Bool(deciding) { second } else { Value::Null });
    }
    let second = truth(second)?;
    Ok(match (first, second) {
        (_, Some(second)) if second == deciding => Value::Bool(deciding),
        (Some(_), Some(_)) => Value::Bool(!deciding),
        _ => Value::Null,
    })
}

fn call(function: Function, given: &[Value], random: &mut Random) -> Evaluated {
    let passes_null = matches!(function, Function::Is | Function::Debug);
    if !passes_null && given.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    match (function, given) {
        (Function::Pi, _) => Ok(Value::Double(std::f64::consts::PI)),
        (Function::Random, &[least, greatest]) => {
            within(random, least.int()?, greatest.int()?).map(Value::Int)
        }
        (Function::Greatest | Function::Least, values) => extreme(function, values),
        (_, &[only]) => of_one(function, only),
        (_, &[left, right]) => of_two(function, left, right),
        (_, &[first, second, third]) => of_three(function, first, second, third, random),
        _ => Err(EvalError::OtherNumber),
    }
}

fn of_one(function: Function, value: Value) -> Evaluated {
    Ok(match function {
        Function::Not => Value::Bool(!value.bool()?),
        Function::Debug => value,
        Function::Double => Value::Double(value.double()?),
        Function::Int => Value::Int(value.int()?),
        Function::Exp => Value::Double(value.double()?.exp()),
        Function::Ln => Value::Double(value.double()?.ln()),
        Function::Sqrt => Value::Double(value.double()?.sqrt()),
        Function::Abs => match value {
            Value::Double(value) => Value::Double(value.abs()),
            // The least integer has no counterpart, and stays as it is.
            other => Value::Int(other.int()?.wrapping_abs()),
        },
        _ => return Err(EvalError::OtherNumber),
    })
}

fn of_two(function: Function, left: Value, right: Value) -> Evaluated {
    let is_double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    match function {
        Function::Is => return Ok(Value::Bool(left == right)),
        Function::Power => {
            return Ok(Value::Double(left.double()?.powf(right.double()?)));
        }
        Function::HashMurmur2 => {
            return Ok(Value::Int(murmur2(left.int()?, right.int()?)));
        }
        Function::HashFnv1a => return Ok(Value::Int(fnv1a(left.int()?, right.int()?))),
        Function::Equal | Function::Unequal | Function::Less | Function::LessOrEqual => {
            let order = match is_double {
                true => left.double()?.partial_cmp(&right.double()?),
                false => Some(left.int()?.cmp(&right.int()?)),
            };
            return Ok(Value::Bool(match function {
                Function::Equal => order.is_some_and(|order| order.is_eq()),
                Function::Unequal => !order.is_some_and(|order| order.is_eq()),
                Function::Less => order.is_some_and(|order| order.is_lt()),
                _ => order.is_some_and(|order| order.is_le()),
            }));
        }
        _ => {}
    }
    let sums = matches!(
        function,
        Function::Add | Function::Subtract | Function::Multiply | Function::Divide
    );
    if is_double && sums {
        let (left, right) = (left.double()?, right.double()?);
        return Ok(Value::Double(match function {
            Function::Add => left + right,
            Function::Subtract => left - right,
            Function::Multiply => left * right,
            _ => left / right,
        }));
    }
    of_integers(function, left.int()?, right.int()?).map(Value::Int)
}

fn of_integers(function: Function, left: i64, right: i64) -> Result<i64, EvalError> {
    let checked = |result: Option<i64>, what| result.ok_or(EvalError::OutOfRange(what));
    match function {
        Function::Add => checked(left.checked_add(right), "add"),
        Function::Subtract => checked(left.checked_sub(right), "sub"),
        Function::Multiply => checked(left.checked_mul(right), "mul"),
        Function::Divide | Function::Modulo if right == 0 => Err(EvalError::DivisionByZero),
        Function::Divide => checked(left.checked_div(right), "div"),
        Function::Modulo => Ok(left.wrapping_rem(right)),
        Function::BitAnd => Ok(left & right),
        Function::BitOr => Ok(left | right),
        Function::BitXor => Ok(left ^ right),
        Function::ShiftLeft => Ok(left.wrapping_shl(right as u32)),
        Function::ShiftRight => Ok(left.wrapping_shr(right as u32)),
        _ => Err(EvalError::OtherNumber),
    }
}

fn of_three(
    function: Function,
    first: Value,
    second: Value,
    third: Value,
    random: &mut Random,
) -> Evaluated {
    if function == Function::Permute {
        return permute(first.int()?, second.int()?, third.int()?).map(Value::Int);
    }
    let (least, greatest) = (first.int()?, second.int()?);
    let parameter = third.double()?;
    let size = size_of(least, greatest)?;
    let place = match function {
        Function::RandomExponential if parameter > 0.0 => {
            (size as f64 * exponential(random, parameter)) as u64
        }
        Function::RandomExponential => {
            let why =
                format!("exponential parameter must be greater than zero (not {parameter:.6})");
            return Err(EvalError::Parameter(why));
        }
        Function::RandomGaussian if parameter >= 2.0 => {
            (size as f64 * gaussian(random, parameter)) as u64
        }
        Function::RandomGaussian => {
            let why = format!("gaussian parameter must be at least 2.000000 (not {parameter:.6})");
            return Err(EvalError::Parameter(why));
        }
        Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => {
            Zipf::new(size, parameter).draw(random) - 1
        }
        Function::RandomZipfian => {
            let why =
                format!("zipfian parameter must be in range [1.001, 1000] (not {parameter:.6})");
            return Err(EvalError::Parameter(why));
        }
        _ => return Err(EvalError::OtherNumber),
    };
    // What rounding puts behind the last one is the last one.
    Ok(Value::Int(least.wrapping_add(place.min(size - 1) as i64)))
}

/// How many integers there are from `least` to `greatest`.
fn size_of(least: i64, greatest: i64) -> Result<u64, EvalError> {
    if least > greatest {
        return Err(EvalError::Parameter("empty range given to random".to_owned()));
    }
    let size = i128::from(greatest) - i128::from(least) + 1;
    u64::try_from(size)
        .ok()
        .filter(|size| *size < 1 << 63)
        .ok_or_else(|| EvalError::Parameter("random range is too large".to_owned()))
}

fn within(random: &mut Random, least: i64, greatest: i64) -> Result<i64, EvalError> {
    let size = size_of(least, greatest)?;
    Ok(least.wrapping_add(random.below(size) as i64))
}

/// A share of the range: `f(x) = exp(-parameter * x) / (1 - exp(-parameter))`, as the manual has it.
fn exponential(random: &mut Random, parameter: f64) -> f64 {
    let cut = (-parameter).exp();
    let uniform = 1.0 - random.unit(); // (0, 1]
    -(cut + (1.0 - cut) * uniform).ln() / parameter
}

/// A share of the range: the normal distribution, cut at `parameter` standard deviations to both
/// sides (G. E. P. Box, M. E. Muller, 1958).
fn gaussian(random: &mut Random, parameter: f64) -> f64 {
    loop {
        let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
        let deviation = radius * (std::f64::consts::TAU * random.unit()).sin();
        if (-parameter..parameter).contains(&deviation) {
            return (deviation + parameter) / (2.0 * parameter);
        }
    }
}

/// A place in a random permutation of `0..size`, which the seed chooses.
fn permute(place: i64, size: i64, seed: i64) -> Result<i64, EvalError> {
    if size <= 0 {
        let why = "permute size parameter must be greater than zero";
        return Err(EvalError::Parameter(why.to_owned()));
    }
    Ok(permuted(place as u64, size as u64, seed as u64) as i64)
}

/// MurmurHash2 of eight bytes (A. Appleby, MurmurHash64A).
fn murmur2(value: i64, seed: i64) -> i64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    const R: u32 = 47;
    let mut result = seed as u64 ^ 8_u64.wrapping_mul(M);
    let mut key = (value as u64).wrapping_mul(M);
    key ^= key >> R;
    key = key.wrapping_mul(M);
    result = (result ^ key).wrapping_mul(M);
    result ^= result >> R;
    result = result.wrapping_mul(M);
    (result ^ (result >> R)) as i64
}

/// FNV-1a of eight bytes (draft-eastlake-fnv), with the seed in its basis.
fn fnv1a(value: i64, seed: i64) -> i64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = value.to_le_bytes();
    let start = BASIS ^ seed as u64;
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME)) as i64
}

fn extreme(function: Function, values: &[Value]) -> Evaluated {
    let is_greatest = function == Function::Greatest;
    if values.iter().any(|value| matches!(value, Value::Double(_))) {
        let mut found = None;
        for value in values {
            let value = value.double()?;
            let is_better = found.is_none_or(|best| (value > best) == is_greatest);
            found = if is_better { Some(value) } else { found };
        }
        return Ok(found.map_or(Value::Null, Value::Double));
    }
    let ints = values.iter().map(|value| value.int()).collect::<Result<Vec<_>, _>>()?;
    let found = if is_greatest { ints.iter().max() } else { ints.iter().min() };
    Ok(found.map_or(Value::Null, |value| Value::Int(*value)))
}

#[cfg(test)]
mod tests {
    use super::super::variables::Content;
    use super::*;
    use crate::random::Purpose;

    fn evaluated(text: &str) -> String {
        let mut names = Names::default();
        let expression = Expression::parse(text, &mut names).expect(text);
        let mut variables = Variables::default();
        for (name, content) in [
            ("five", Content::Value(Value::Int(5))),
            ("text", Content::Text(b"1.5".to_vec())),
            ("bad", Content::Text(b"x".to_vec())),
            ("default_seed", Content::Value(Value::Int(7))),
        ] {
            variables.set(names.place(name).expect("a place"), content);
        }
        let mut random = Random::new(1, Purpose::Keys, &[]);
        let mut debugged = Vec::new();
        let mut context = Context {
            names: &names,
            variables: &variables,
            random: &mut random,
            debugged: &mut debugged,
        };
        match expression.evaluate(&mut context) {
            Ok(value) => {
                let mut out = Vec::new();
                value.push_text(&mut out);
                String::from_utf8(out).unwrap()
            }
            Err(error) => format!("error: {error}"),
        }
    }

    #[test]
    fn operators_are_as_tight_as_the_manual_says() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("7 / 2", "3"),
            ("-7 / 2", "-3"),
            ("-7 % 3", "-1"),
            ("7 / 2.0", "3.5"),
            ("2 - 3 - 4", "-5"),
            ("1 << 3 | 1", "9"),
            ("6 & 3 # 1", "3"),
            ("~ 5", "-6"),
            ("~ 1 + 2", "-4"),
            ("2 * ~1 + 3", "-10"),
            ("~ 5 & 7", "2"),
            ("- ~ ~ 1 + 2", "-3"),
            ("1 + 1 = 2 and not 1 > 2", "true"),
            ("1 = 1 is true", "true"),
            ("null is null", "true"),
            ("5 isnull", "false"),
            ("5 notnull", "true"),
            ("null + 1", "NULL"),
            ("null and false", "false"),
            ("null or true", "true"),
            ("null and true", "NULL"),
            ("null or 1", "NULL"),
            ("abs(-9223372036854775808)", "-9223372036854775808"),
            ("false and 1 / 0 = 1", "false"),
            ("case when 1 > 2 then 3 when null then 4 else 5 end", "5"),
            ("case when false then 1 end", "NULL"),
            ("-9223372036854775808", "-9223372036854775808"),
            (":five + :text", "6.5"),
        ] {
            assert_eq!(evaluated(text), expected, "{text}");
        }
    }

    #[test]
    fn functions_are_those_of_the_manual() {
        for (text, expected) in [
            ("abs(-17)", "17"),
            ("debug(5432.1)", "5432.1"),
            ("double(5432)", "5432"),
            ("exp(1.0)", "2.71828182845905"),
            ("greatest(5, 4, 3, 2)", "5"),
            ("least(5, 4, 3, 2.1)", "2.1"),
            ("int(5.4 + 3.8)", "9"),
            ("ln(2.718281828459045)", "1"),
            ("mod(54, 32)", "22"),
            ("pi()", "3.14159265358979"),
            ("pow(2.0, 10)", "1024"),
            ("sqrt(2.0)", "1.4142135623731"),
            ("random(3, 3)", "3"),
            ("random_gaussian(3, 3, 2.5)", "3"),
        ] {
            assert_eq!(evaluated(text), expected, "{text}");
        }
    }

    #[test]
    fn what_has_no_value_says_why() {
        for (text, expected) in [
            ("1 / 0", "division by zero"),
            ("9223372036854775807 + 1", "bigint add out of range"),
            (":nobody", "undefined variable \"nobody\""),
            (":bad", "malformed variable \"bad\" value: \"x\""),
            ("1 + true", "cannot coerce boolean to int"),
            ("not 1", "cannot coerce int to boolean"),
            ("random(2, 1)", "empty range given to random"),
            ("random(0, 9223372036854775807)", "random range is too large"),
            (
                "random_gaussian(1, 2, 1.9)",
                "gaussian parameter must be at least 2.000000 (not 1.900000)",
            ),
            (
                "random_zipfian(1, 2, 1)",
                "zipfian parameter must be in range [1.001, 1000] (not 1.000000)",
            ),
            ("permute(1, 0)", "permute size parameter must be greater than zero"),
        ] {
            assert_eq!(evaluated(text), format!("error: {expected}"), "{text}");
        }
    }

    #[test]
    fn random_numbers_have_their_ranges_and_their_shapes() {
        let mut random = Random::new(3, Purpose::Keys, &[]);
        let mut mean = |function: Function, parameter: f64| {
            let draws = 20_000;
            let mut sum = 0.0;
            for _ in 0..draws {
                let (one, hundred) = (Value::Int(1), Value::Int(100));
                let drawn = of_three(function, one, hundred, Value::Double(parameter), &mut random);
                let drawn = drawn.unwrap().int().unwrap();
                assert!((1..=100).contains(&drawn));
                sum += drawn as f64;
            }
            sum / f64::from(draws)
        };
        // Means of the distributions in the manual, over 1 to 100.
        assert!((mean(Function::RandomGaussian, 4.0) - 50.5).abs() < 1.0);
        assert!((mean(Function::RandomExponential, 5.0) - 20.0).abs() < 1.0);
        let weights = (1..=100).map(|place| f64::from(place).powf(-1.5));
        let (whole, moment) =
            weights.zip(1..).fold((0.0, 0.0), |(whole, moment), (weight, place)| {
                (whole + weight, moment + weight * f64::from(place))
            });
        assert!((mean(Function::RandomZipfian, 1.5) - moment / whole).abs() < 0.6);
    }
}
