//! A parameter of a prepared statement as Lua writes it, in memory that the engine reads.
#![expect(unsafe_code, reason = "values are written by Lua, through LuaJIT's FFI")]

use std::ffi::c_char;

use loadstone_protocol::Param;

/// A parameter's value: what `sql.lua` calls a cell.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawValue {
    kind: u32,
    length: u32,
    integer: i64,
    real: f64,
    text: *const c_char,
}

impl RawValue {
    pub(crate) fn value(&self) -> Param<'_> {
        match self.kind {
            1 => Param::Int(self.integer),
            2 => Param::Double(self.real),
            // SAFETY: `sql.lua` sets this kind together with `text` and `length`, which are the
            // parameter's buffer and the length of its content.
            3 => Param::Text(unsafe { bytes(self.text.cast(), self.length as usize) }),
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
