//! COPY's binary format: a header, rows of values as the server holds them, an end.
//!
//! Each value must have exactly the type of its column.
//!
//! <https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4>

/// Before the first row: the signature, no flags, no extension.
pub const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// After the last row.
pub const END: [u8; 2] = (-1_i16).to_be_bytes();

const NULL: i32 = -1;

/// Appends the start of a row of so many values.
pub fn begin_row(out: &mut Vec<u8>, values: u16) {
    out.extend_from_slice(&values.to_be_bytes()); // Int16
}

/// Appends NULL, of any type.
pub fn put_null(out: &mut Vec<u8>) {
    out.extend_from_slice(&NULL.to_be_bytes()); // Int32
}

/// Appends a `smallint`.
pub fn put_int2(out: &mut Vec<u8>, value: i16) {
    put_bytes(out, &value.to_be_bytes());
}

/// Appends an `integer`.
pub fn put_int4(out: &mut Vec<u8>, value: i32) {
    put_bytes(out, &value.to_be_bytes());
}

/// Appends a `bigint`.
pub fn put_int8(out: &mut Vec<u8>, value: i64) {
    put_bytes(out, &value.to_be_bytes());
}

/// Appends a `double precision`.
pub fn put_float8(out: &mut Vec<u8>, value: f64) {
    put_bytes(out, &value.to_be_bytes());
}

/// Appends a `text`, `varchar`, `char` or `bytea`, or a value of another type in its binary form.
///
/// # Panics
/// If it has 2 GiB or more; the server takes no value of 1 GiB.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = i32::try_from(bytes.len()).expect("a value of less than 2 GiB");
    out.extend_from_slice(&length.to_be_bytes()); // Int32
    out.extend_from_slice(bytes);
}

/// Appends a value as [`put_bytes`] does, whose bytes `write` appends.
///
/// # Panics
/// As [`put_bytes`].
pub fn put_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&NULL.to_be_bytes()); // Int32
    write(out);
    let length = i32::try_from(out.len() - start - 4).expect("a value of less than 2 GiB");
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_behind_its_length() {
        let mut out = Vec::new();
        begin_row(&mut out, 6);
        put_int2(&mut out, -2);
        put_int4(&mut out, 7);
        put_int8(&mut out, 8);
        put_float8(&mut out, 1.5);
        put_with(&mut out, |out| out.extend_from_slice(b"abc"));
        put_null(&mut out);
        let expected = b"\0\x06\0\0\0\x02\xff\xfe\0\0\0\x04\0\0\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x08\
            \0\0\0\x08\x3f\xf8\0\0\0\0\0\0\0\0\0\x03abc\xff\xff\xff\xff";
        assert_eq!(out, expected);
        assert_eq!((HEADER.len(), END), (19, [0xff, 0xff]));
        let (mut at_once, mut by_parts) = (Vec::new(), Vec::new());
        put_bytes(&mut at_once, b"abc");
        put_with(&mut by_parts, |out| out.extend_from_slice(b"abc"));
        assert_eq!(at_once, by_parts);
    }
}
