//! The workloads, driven by fed answers: no server.

mod distributions;
mod layouts;
mod pipelined;
mod plans;
mod properties;
mod sequences;
mod templates;
mod tpcc;
mod transcript;
