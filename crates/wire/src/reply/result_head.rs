//! The column count: the first packet of a result set.

use crate::WireError;
use crate::cursor::Cursor;

/// Servers stop at 4,096.
const MOST_COLUMNS: u64 = u16::MAX as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ResultHead {
    pub(super) columns: u16,
    /// Whether a definition of each column follows.
    pub(super) definitions_follow: bool,
}

/// `says_more`: with [`CACHE_METADATA`](crate::Capabilities::CACHE_METADATA).
///
/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_text_resultset.html>,
/// <https://mariadb.com/docs/server/reference/clientserver-protocol/4-server-response-packets/result-set-packets>
#[inline]
pub(super) fn parse_column_count(payload: &[u8], says_more: bool) -> Result<ResultHead, WireError> {
    let mut cursor = Cursor::new(payload, "the column count of a result set");
    let columns = cursor.lenenc()?; // int<lenenc>
    let definitions_follow = !says_more || cursor.u8()? != 0; // int<1>
    let columns = u16::try_from(columns).map_err(|_| WireError::TooLarge {
        what: "the column count of a result set",
        length: columns,
        limit: MOST_COLUMNS,
    })?;
    Ok(ResultHead { columns, definitions_follow })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(columns: u16, definitions_follow: bool) -> Result<ResultHead, WireError> {
        Ok(ResultHead { columns, definitions_follow })
    }

    #[test]
    fn a_count_is_read_and_an_absurd_one_refused() {
        assert_eq!(parse_column_count(&[3], false), head(3, true));
        assert_eq!(parse_column_count(&[0xfc, 0, 0x10], false), head(4096, true));
        assert!(parse_column_count(&[0xfd, 0, 0, 1], false).is_err());
        assert!(parse_column_count(&[0xfc, 0], false).is_err());
    }

    #[test]
    fn a_count_may_say_whether_definitions_follow() {
        assert_eq!(parse_column_count(&[3, 0], true), head(3, false));
        assert_eq!(parse_column_count(&[0xfc, 0, 0x10, 1], true), head(4096, true));
        assert!(parse_column_count(&[3], true).is_err());
    }
}
