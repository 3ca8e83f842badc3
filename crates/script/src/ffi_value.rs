//! A parameter of a prepared statement as Lua writes it, in memory that the engine reads.
#![expect(unsafe_code, reason = "values are written by Lua, through LuaJIT's FFI")]

use std::ffi::c_char;
use std::fmt;

use loadstone_protocol::Param;

/// A parameter's value: what `statement.lua` calls a cell.
#[repr(C)]
pub(crate) struct RawValue {
    kind: u32,
    length: u32,
    content: Content,
}

/// The field of the value's kind.
#[repr(C)]
union Content {
    integer: i64,
    real: f64,
    text: *const c_char,
}

impl fmt::Debug for RawValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(formatter)
    }
}

impl RawValue {
    pub(crate) fn value(&self) -> Param<'_> {
        match self.kind {
            // SAFETY: `statement.lua` sets this kind together with `integer`.
            1 => Param::Int(unsafe { self.content.integer }),
            // SAFETY: the same with `real`.
            2 => Param::Double(unsafe { self.content.real }),
            // SAFETY: a parameter of this kind has `text` all the time, its buffer, and is set together with
            // `length`, that of the buffer's content.
            3 => Param::Text(unsafe { bytes(self.content.text.cast(), self.length as usize) }),
            _ => Param::Null,
        }
    }
}

/// # Safety
/// `length` bytes at `start` stay unchanged for `'a`; if `length` is zero, `start` may be null.
pub(crate) unsafe fn bytes<'a>(start: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(start, length) }
}
