//! LOCAL INFILE Request.

use loadstone_protocol::sanitize::{NAME, plain};

use crate::WireError;
use crate::cursor::Cursor;

/// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_com_query_response_local_infile_request.html>
pub(super) fn parse_file_name(payload: &[u8]) -> Result<String, WireError> {
    let mut cursor = Cursor::new(payload, "a request for a local file");
    cursor.u8()?; // int<1>, 0xfb
    Ok(plain(cursor.rest(), NAME)) // string<EOF>
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_what_follows_the_marker() {
        assert_eq!(parse_file_name(b"\xfbrows.csv"), Ok("rows.csv".to_owned()));
        assert!(parse_file_name(b"").is_err());
    }
}
