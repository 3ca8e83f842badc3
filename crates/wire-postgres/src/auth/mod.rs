//! Authentication: how to answer what the server asks for. One file for each method.

mod clear_text;
mod line;
mod md5;
mod mechanism;
mod request;
mod salted;
mod saslprep;
mod scram;

pub(crate) use clear_text::answer as clear_text_answer;
pub(crate) use line::Line;
pub(crate) use md5::answer as md5_answer;
pub use mechanism::ChannelBinding;
pub(crate) use mechanism::Mechanism;
pub(crate) use request::Request;
pub use salted::KeyCache;
pub(crate) use scram::{ClientFirst, Proof};
