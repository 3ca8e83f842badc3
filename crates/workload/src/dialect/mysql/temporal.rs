//! Dates and times in rows of the binary protocol.

use crate::calendar::{push_parts, push_time};
use crate::text::push_decimal;

/// Appends a date or time of a binary row as text: its length says which it is. Zero is sent as no
/// bytes at all, and all types accept `0`.
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_binary_resultset.html>
pub(super) fn push_temporal(parts: &[u8], out: &mut Vec<u8>) {
    let byte = |place: usize| i64::from(parts.get(place).copied().unwrap_or_default());
    let number = |from: usize| {
        byte(from) | byte(from + 1) << 8 | byte(from + 2) << 16 | byte(from + 3) << 24
    };
    let fraction_at = match parts.len() {
        4 | 7 | 11 => {
            push_parts(&[(byte(0) | byte(1) << 8, 4), (byte(2), 2), (byte(3), 2)], b'-', out);
            if parts.len() > 4 {
                out.push(b' ');
                push_time(byte(4), byte(5), byte(6), out);
            }
            7
        }
        8 | 12 => {
            if byte(0) == 1 {
                out.push(b'-');
            }
            push_time(number(1) * 24 + byte(5), byte(6), byte(7), out);
            8
        }
        _ => return push_decimal(0, out),
    };
    if parts.len() > 8 {
        out.push(b'.');
        push_parts(&[(number(fraction_at), 6)], b'.', out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_written_as_they_are_read() {
        let written = |parts: &[u8]| {
            let mut out = Vec::new();
            push_temporal(parts, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(&[0xea, 7, 11, 22]), "2026-11-22");
        assert_eq!(written(&[0xea, 7, 1, 2, 3, 4, 5]), "2026-01-02 03:04:05");
        assert_eq!(
            written(&[0xea, 7, 1, 2, 3, 4, 5, 0x40, 0xe2, 1, 0]),
            "2026-01-02 03:04:05.123456"
        );
        assert_eq!(written(&[1, 1, 0, 0, 0, 2, 3, 4]), "-26:03:04");
        assert_eq!(written(&[0, 0, 0, 0, 0, 2, 3, 4, 1, 0, 0, 0]), "02:03:04.000001");
        assert_eq!(written(&[]), "0");
    }
}
