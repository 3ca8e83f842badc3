//! Reading the fields of one packet; never beyond its end.

use crate::WireError;

/// The rest of a packet.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// The packet's name, for the error.
    packet: &'static str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(payload: &'a [u8], packet: &'static str) -> Self {
        Self { rest: payload, packet }
    }

    fn truncated(&self) -> WireError {
        WireError::Truncated { packet: self.packet }
    }

    /// `string<fix>` of a known length.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (chunk, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(*chunk)
    }

    /// `int<1>`
    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        let [byte] = self.array::<1>()?;
        Ok(byte)
    }

    /// `int<2>`
    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    /// `int<4>`
    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    /// `int<lenenc>`
    ///
    /// <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_dt_integers.html>
    #[inline]
    pub(crate) fn lenenc(&mut self) -> Result<u64, WireError> {
        match self.u8()? {
            small @ 0..=0xfa => Ok(u64::from(small)),
            marker => self.long_lenenc(marker),
        }
    }

    #[cold]
    fn long_lenenc(&mut self, marker: u8) -> Result<u64, WireError> {
        match marker {
            0xfc => Ok(u64::from(self.u16()?)),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Ok(u64::from(u32::from_le_bytes([low, middle, high, 0])))
            }
            0xfe => self.array().map(u64::from_le_bytes),
            // 0xfb is NULL, which only a row may hold, and 0xff starts an error packet.
            first_byte => Err(WireError::UnexpectedPacket { expected: "a length", first_byte }),
        }
    }

    /// `string<fix>`
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(taken)
    }

    /// `string<lenenc>`
    pub(crate) fn lenenc_bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.lenenc()?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// A column's value in a text row: `string<lenenc>` or NULL.
    pub(crate) fn nullable_bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        match self.rest.split_first() {
            Some((0xfb, rest)) => {
                self.rest = rest;
                Ok(None)
            }
            _ => self.lenenc_bytes().map(Some),
        }
    }

    /// `string<NUL>`
    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8], WireError> {
        let length =
            self.rest.iter().position(|&byte| byte == 0).ok_or_else(|| self.truncated())?;
        let text = self.take(length)?;
        self.u8()?;
        Ok(text)
    }

    /// `string<NUL>` whose NUL some servers omit at the end of a packet.
    pub(crate) fn until_nul_or_end(&mut self) -> &'a [u8] {
        self.until_nul().unwrap_or_else(|_| self.rest())
    }

    /// `string<EOF>`
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_width_are_read() {
        let cases: [(&[u8], u64); 5] = [
            (&[0xfa], 250),
            (&[0xfc, 0xfb, 0x00], 251),
            (&[0xfc, 0xff, 0xff], 0xffff),
            (&[0xfd, 0x01, 0x02, 0x03], 0x03_0201),
            (&[0xfe, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
        ];
        for (bytes, value) in cases {
            assert_eq!(Cursor::new(bytes, "test").lenenc(), Ok(value));
            for length in 0..bytes.len() {
                let result = Cursor::new(&bytes[..length], "test").lenenc();
                assert_eq!(result, Err(WireError::Truncated { packet: "test" }));
            }
        }
    }

    #[test]
    fn null_and_error_markers_are_no_lengths() {
        assert!(Cursor::new(&[0xfb], "test").lenenc().is_err());
        assert!(Cursor::new(&[0xff, 1, 2], "test").lenenc().is_err());
    }

    #[test]
    fn a_length_beyond_the_packet_is_truncation_not_allocation() {
        let bytes = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, b'x'];
        let result = Cursor::new(&bytes, "test").lenenc_bytes();
        assert_eq!(result, Err(WireError::Truncated { packet: "test" }));
    }

    #[test]
    fn a_forgotten_nul_at_the_end_is_forgiven_where_servers_forget_it() {
        assert_eq!(Cursor::new(b"plugin", "test").until_nul_or_end(), b"plugin");
        assert_eq!(Cursor::new(b"plugin\0x", "test").until_nul_or_end(), b"plugin");
        assert!(Cursor::new(b"plugin", "test").until_nul().is_err());
    }
}
