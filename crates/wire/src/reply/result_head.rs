//! The column count: the first packet of a result set.

use crate::WireError;
use crate::cursor::Cursor;

/// Servers stop at 4,096.
const MOST_COLUMNS: u64 = u16::MAX as u64;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html>
#[inline]
pub(super) fn parse_column_count(payload: &[u8]) -> Result<u16, WireError> {
    let columns = Cursor::new(payload, "the column count of a result set").lenenc()?;
    u16::try_from(columns).map_err(|_| WireError::TooLarge {
        what: "the column count of a result set",
        length: columns,
        limit: MOST_COLUMNS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_and_an_absurd_one_refused() {
        assert_eq!(parse_column_count(&[3]), Ok(3));
        assert_eq!(parse_column_count(&[0xfc, 0, 0x10]), Ok(4096));
        assert!(parse_column_count(&[0xfd, 0, 0, 1]).is_err());
        assert!(parse_column_count(&[0xfc, 0]).is_err());
    }
}
