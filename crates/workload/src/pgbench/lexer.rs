//! Words and signs of an expression.

/// A word or sign.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Int(i64),
    /// 2^63, which is a number only behind a minus.
    IntBeyond,
    Double(f64),
    Variable(String),
    /// A keyword or a function's name, in lower case.
    Word(String),
    Sign(&'static str),
    /// What is no token: why, and perhaps which text. Nothing comes after it.
    Wrong(&'static str, Option<String>),
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) token: Token,
    /// Where its first byte stands.
    pub(super) first: usize,
    /// Where its last one does.
    pub(super) last: usize,
}

/// The longer ones first.
const SIGNS: [&str; 19] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~",
    "(",
];
const MORE_SIGNS: [&str; 2] = [")", ","];

/// The tokens of an expression, up to the first text that is none.
pub(super) fn tokens(text: &str) -> Vec<Placed> {
    let (mut found, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return found;
        }
        let (token, length) = token(rest);
        let is_wrong = matches!(token, Token::Wrong(..));
        let first = text.len() - rest.len();
        found.push(Placed { token, first, last: first + length - 1 });
        if is_wrong {
            return found;
        }
        rest = &rest[length..];
    }
}

fn token(rest: &str) -> (Token, usize) {
    if let Some(name) = rest.strip_prefix(':') {
        let length = name.bytes().take_while(|byte| is_of_a_name(*byte)).count();
        if length > 0 {
            return (Token::Variable(name[..length].to_owned()), 1 + length);
        }
    }
    if let Some(length) = number_length(rest) {
        return (number(&rest[..length]), length);
    }
    if rest.bytes().next().is_some_and(|first| is_of_a_name(first) && !first.is_ascii_digit()) {
        let length = rest.bytes().take_while(|byte| is_of_a_name(*byte)).count();
        return (Token::Word(rest[..length].to_ascii_lowercase()), length);
    }
    match SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign)) {
        Some(sign) => (Token::Sign(sign), sign.len()),
        None => {
            let sign = rest.chars().next().unwrap_or_default();
            (Token::Wrong("unexpected character", Some(sign.to_string())), sign.len_utf8())
        }
    }
}

/// Letters, digits, underscores, and whatever is no ASCII.
pub(super) fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

/// Digits, with a point among or before them, and an exponent behind.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        let decimals = digits(end + 1);
        if whole + decimals == 0 {
            return None;
        }
        end += 1 + decimals;
    } else if whole == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let signed = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = bytes.get(end + 1 + signed..).map_or(0, |_| digits(end + 1 + signed));
        if exponent > 0 {
            end += 1 + signed + exponent;
        }
    }
    Some(end)
}

fn number(text: &str) -> Token {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Token::Double(value),
            _ => Token::Wrong("double constant overflow", Some(text.to_owned())),
        };
    }
    match text.parse::<u64>() {
        Ok(0x8000_0000_0000_0000) => Token::IntBeyond,
        Ok(value) if i64::try_from(value).is_ok() => Token::Int(value as i64),
        _ => Token::Wrong("bigint constant overflow", Some(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_cut_into_words_numbers_and_signs() {
        let found = tokens("1.5e3+:a_1<>ABS(.5)/9223372036854775808>>2");
        let found: Vec<Token> = found.into_iter().map(|placed| placed.token).collect();
        let expected = [
            Token::Double(1500.0),
            Token::Sign("+"),
            Token::Variable("a_1".to_owned()),
            Token::Sign("<>"),
            Token::Word("abs".to_owned()),
            Token::Sign("("),
            Token::Double(0.5),
            Token::Sign(")"),
            Token::Sign("/"),
            Token::IntBeyond,
            Token::Sign(">>"),
            Token::Int(2),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_token_is_named_by_its_place() {
        for (text, last, why, what) in [
            ("1 + $", 4, "unexpected character", "$"),
            (":", 0, "unexpected character", ":"),
            ("9223372036854775809", 18, "bigint constant overflow", "9223372036854775809"),
            ("a 1e999 ?", 6, "double constant overflow", "1e999"),
        ] {
            let found = tokens(text).pop().expect("a token");
            let token = Token::Wrong(why, Some(what.to_owned()));
            assert_eq!((found.token, found.last), (token, last), "{text}");
        }
    }
}
