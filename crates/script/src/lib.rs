//! Lua scripts written for sysbench, as workloads: LuaJIT, its API, and users that are coroutines.
//!
//! A [`Vm`] is one Lua state with the library; a [`User`] is a virtual user in it, with globals of
//! its own. [`User::begin`] starts one of its functions and returns what it needs: a [`Request`]
//! for the server or the event loop, which [`User::resume`] answers. Nothing here has a socket or a
//! clock, so everything is tested by feeding it answers.
//!
//! Both belong to the thread that created them: a shard has its own state, and shares nothing.

mod configure;
mod error;
mod ffi_mailbox;
mod ffi_value;
mod inspector;
mod options;
mod plan;
mod request;
mod state;
mod stream;
mod user;
mod vm;
mod watchdog_state;

pub use error::ScriptError;
pub use inspector::{Contents, Inspector, Pending, Said};
pub use options::{Declared, Kind, Setting};
pub use plan::{IgnoredErrors, Output, ScriptPlan};
pub use request::{Answer, Parameters, Request, Server};
pub use user::{Report, User, Wish};
pub use vm::{Command, Vm};
pub use watchdog_state::{Watch, Watches};
