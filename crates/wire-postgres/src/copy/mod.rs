//! Rows for COPY, as [`write_copy_data`](crate::write_copy_data) sends them.

pub mod binary;
pub mod text;
