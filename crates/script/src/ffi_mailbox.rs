//! The memory that a Lua state and the engine share: a script's request and the answer.
//!
//! Statements pass through here and not through Lua's stack: a pointer and a length instead of
//! values to be checked and converted.
#![expect(unsafe_code, reason = "the mailbox is written by Lua, through LuaJIT's FFI")]

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;

use loadstone_protocol::{Code, ResultSet};

use crate::ffi_value::{RawValue, bytes};
use crate::request::{Answer, Parameters, Request};

/// [`Mailbox`] and [`RawValue`] as declared to LuaJIT. It searches fields from the first one on:
/// those that each statement needs come first. What Lua reads of them has at most 32 bits: it would make an object of a
/// longer one.
pub(crate) const DECLARATIONS: &str = "
typedef struct {
  uint32_t kind, length;
  union { int64_t integer; double real; const char *text; };
} loadstone_value;
typedef struct {
  uint32_t request, connection, answer, statement, count, row_count, field_count, errno, rows_length;
  loadstone_value **cells;
  const char *text;
  size_t text_length;
  const char *rows;
  const char *message;
  size_t message_length;
  char sql_state[5];
  bool failed, cancelled;
} loadstone_mailbox;
";

#[repr(C)]
#[derive(Debug)]
struct Letter {
    request: u32,
    connection: u32,
    answer: u32,
    statement: u32,
    count: u32,
    row_count: u32,
    field_count: u32,
    errno: u32,
    rows_length: u32,
    cells: *const *const RawValue,
    text: *const u8,
    text_length: usize,
    rows: *const u8,
    message: *const u8,
    message_length: usize,
    sql_state: [u8; 5],
    failed: bool,
    cancelled: bool,
}

/// The shared memory of one state.
#[derive(Debug)]
pub(crate) struct Mailbox(Box<UnsafeCell<Letter>>);

impl Mailbox {
    pub(crate) fn new() -> Self {
        Self(Box::new(UnsafeCell::new(Letter {
            request: 0,
            connection: 0,
            statement: 0,
            count: 0,
            text: ptr::null(),
            text_length: 0,
            cells: ptr::null(),
            answer: 0,
            errno: 0,
            field_count: 0,
            row_count: 0,
            message: ptr::null(),
            message_length: 0,
            rows: ptr::null(),
            rows_length: 0,
            sql_state: [0; 5],
            failed: false,
            cancelled: false,
        })))
    }

    pub(crate) fn address(&self) -> *mut c_void {
        self.0.get().cast()
    }

    /// Whether the last request failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.letter().failed
    }

    /// Whether the script has cancelled its current event.
    pub(crate) fn has_cancelled(&self) -> bool {
        self.letter().cancelled
    }

    /// The connection of the request.
    pub(crate) fn connection(&self) -> u32 {
        self.letter().connection
    }

    /// The request of the user that ran last. It is valid until that user is resumed: what it
    /// points to is held by the user's coroutine, which waits in the call that filled in the
    /// mailbox, and LuaJIT's collector moves nothing.
    pub(crate) fn request<'a>(&self) -> Request<'a> {
        let letter = self.letter();
        let (connection, statement) = (letter.connection, letter.statement);
        // SAFETY: `sql.lua` and `statement.lua` set `text` and `text_length` from a string right before it asks.
        let sql = || unsafe { bytes(letter.text, letter.text_length) };
        match letter.request {
            1 => Request::Connect { connection },
            2 => Request::Disconnect { connection },
            3 => Request::Reconnect { connection },
            4 => Request::Query { connection, sql: sql() },
            5 => {
                let parameters = parameters(letter);
                Request::Prepare { connection, statement, sql: sql(), parameters }
            }
            6 => Request::Execute { connection, statement, parameters: parameters(letter) },
            7 => Request::CloseStatement { connection, statement },
            8 => Request::NextEvent,
            9 => Request::Count { counter: letter.count },
            10 => Request::Sleep { nanos: letter.text_length as u64 },
            11 => Request::EventOver,
            _ => Request::Idle,
        }
    }

    /// Writes the answer, for Lua to read when it is resumed.
    pub(crate) fn answer(&self, answer: Answer<'_>) {
        // SAFETY: only this thread uses the mailbox, and Lua does not run.
        let letter = unsafe { &mut *self.0.get() };
        (letter.answer, letter.row_count, letter.field_count, letter.rows_length) = (0, 0, 0, 0);
        match answer {
            Answer::Done => {}
            Answer::Results(results) => {
                if let Some(first) = results.first() {
                    put_result(letter, first);
                }
            }
            Answer::Refused { code, sql_state, message } => {
                letter.answer = 1;
                // Scripts know errors by their numbers; one that is known by its SQL state has none.
                let has_number = Code::of_state(&sql_state) != Some(code);
                letter.errno = code.number().filter(|_| has_number).unwrap_or_default().into();
                letter.sql_state = sql_state;
                (letter.message, letter.message_length) = (message.as_ptr(), message.len());
            }
            Answer::NoMore => letter.answer = 1,
        }
    }

    /// Replaces the first result by another one.
    pub(crate) fn put_result(&self, result: &ResultSet) {
        // SAFETY: only this thread uses the mailbox; Lua waits for the call that leads here.
        put_result(unsafe { &mut *self.0.get() }, result);
    }

    fn letter(&self) -> &Letter {
        // SAFETY: only this thread uses the mailbox, and Lua does not run in the meantime.
        unsafe { &*self.0.get() }
    }
}

fn put_result(letter: &mut Letter, result: &ResultSet) {
    letter.field_count = result.columns.into();
    letter.row_count = u32::try_from(result.rows).unwrap_or(u32::MAX);
    // What drives a script keeps less of an answer than this can count.
    letter.rows_length = u32::try_from(result.bytes.len()).unwrap_or(u32::MAX);
    letter.rows = result.bytes.as_ptr();
}

fn parameters<'a>(letter: &Letter) -> Parameters<'a> {
    if letter.count == 0 {
        return Parameters { cells: &[] };
    }
    // SAFETY: `statement.lua` sets `cells` to an array of `count` pointers to cells that the statement
    // keeps, none of them null; a reference is such a pointer. The array stays as it is until another
    // user of the state runs.
    let cells = unsafe {
        std::slice::from_raw_parts(letter.cells.cast::<&RawValue>(), letter.count as usize)
    };
    Parameters { cells }
}
