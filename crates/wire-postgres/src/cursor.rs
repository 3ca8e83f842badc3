//! Reading the fields of one message; never beyond its end.

use crate::WireError;

/// The rest of a message.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
    /// The message's name, for the error.
    message: &'static str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(body: &'a [u8], message: &'static str) -> Self {
        Self { rest: body, message }
    }

    fn truncated(&self) -> WireError {
        WireError::Truncated { message: self.message }
    }

    /// ByteN
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (chunk, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(*chunk)
    }

    /// Byte1
    pub(crate) fn u8(&mut self) -> Result<u8, WireError> {
        let [byte] = self.array::<1>()?;
        Ok(byte)
    }

    /// Int16, of a number that is not below zero.
    pub(crate) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    /// Int32
    pub(crate) fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    /// Int32, of a number that is not below zero.
    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    /// ByteN, of a known length.
    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.truncated())?;
        self.rest = rest;
        Ok(taken)
    }

    /// A value after its length; `None` for NULL, whose length is -1.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| self.truncated())?;
                self.take(length).map(Some)
            }
        }
    }

    /// String: up to a NUL.
    pub(crate) fn string(&mut self) -> Result<&'a [u8], WireError> {
        let end = self.rest.iter().position(|&byte| byte == 0).ok_or_else(|| self.truncated())?;
        let text = self.take(end)?;
        self.u8()?;
        Ok(text)
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_one_after_another_and_none_beyond_the_end() {
        let mut cursor = Cursor::new(b"\x01\0\x02\xff\xff\xff\xfename\0\0\0\0\x02ok", "a test");
        assert_eq!(cursor.u8(), Ok(1));
        assert_eq!(cursor.u16(), Ok(2));
        assert_eq!(cursor.i32(), Ok(-2));
        assert_eq!(cursor.string(), Ok(b"name".as_slice()));
        assert_eq!(cursor.value(), Ok(Some(b"ok".as_slice())));
        assert_eq!(cursor.u8(), Err(WireError::Truncated { message: "a test" }));
    }

    #[test]
    fn a_value_has_no_length_below_null_and_none_beyond_the_message() {
        assert_eq!(Cursor::new(b"\xff\xff\xff\xff", "a test").value(), Ok(None));
        let truncated = Err(WireError::Truncated { message: "a test" });
        for bytes in [b"\xff\xff\xff\xfe".as_slice(), b"\x7f\xff\xff\xffx", b"\0\0\0\x02x", b"\0"] {
            assert_eq!(Cursor::new(bytes, "a test").value(), truncated);
        }
        assert!(Cursor::new(b"name", "a test").string().is_err());
    }
}
