//! Scripts are run by feeding them answers: no server, no socket.

mod apart;
mod api;
mod bad;
mod fed;
mod inspector;
mod installed;
mod interrupted;
mod views;
