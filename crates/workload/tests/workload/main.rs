//! The workloads, driven by fed answers: no server.

mod distributions;
mod layouts;
mod plans;
mod properties;
mod sequences;
mod tpcc;
mod transcript;
