//! What the users of one event loop share: its clock, timers and counters, the events that are due,
//! the connect queue, and the controls of the running step.

mod connect_queue;
mod context;
mod control;
mod farewells;
mod messages;
mod open_loop;
mod sched_policy;
mod timers;

pub(crate) use connect_queue::ConnectQueue;
pub(crate) use context::{AfterError, Parts, Settings, ShardContext, Stage};
pub(crate) use control::Control;
pub(crate) use farewells::Farewells;
pub(crate) use messages::{Message, ShardMessage, ShardSender};
pub(crate) use open_loop::{Due, OpenLoop};
pub(crate) use sched_policy::SchedPolicy;
pub(crate) use timers::Alarm;
