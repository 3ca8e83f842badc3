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
}

/// The longer ones first.
const SIGNS: [&str; 19] = [
    "<>", "!=", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~",
    "(",
];
const MORE_SIGNS: [&str; 2] = [")", ","];

/// The tokens of an expression. The error is where it cannot go on, in bytes.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, usize> {
    let (mut found, mut rest) = (Vec::new(), text);
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(found);
        }
        let (token, length) = token(rest).ok_or(text.len() - rest.len())?;
        found.push(token);
        rest = &rest[length..];
    }
}

fn token(rest: &str) -> Option<(Token, usize)> {
    if let Some(name) = rest.strip_prefix(':') {
        let length = name.bytes().take_while(|byte| is_of_a_name(*byte)).count();
        return (length > 0).then(|| (Token::Variable(name[..length].to_owned()), 1 + length));
    }
    if let Some(length) = number_length(rest) {
        return number(&rest[..length]).map(|token| (token, length));
    }
    if rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.bytes().take_while(is_inside).count();
        return Some((Token::Word(rest[..length].to_ascii_lowercase()), length));
    }
    let sign = SIGNS.iter().chain(&MORE_SIGNS).find(|sign| rest.starts_with(**sign))?;
    Some((Token::Sign(sign), sign.len()))
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

fn number(text: &str) -> Option<Token> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Token::Double);
    }
    match text.parse::<u64>().ok()? {
        0x8000_0000_0000_0000 => Some(Token::IntBeyond),
        value => i64::try_from(value).ok().map(Token::Int),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_cut_into_words_numbers_and_signs() {
        let found = tokens("1.5e3+:a_1<>ABS(.5)/9223372036854775808>>2").unwrap();
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
        for (text, place) in [("1 + $", 4), (":", 0), ("9223372036854775809", 0), ("a ?", 2)] {
            assert_eq!(tokens(text), Err(place), "{text}");
        }
    }
}
