//! Compression of a connection, with the memory that it needs while it works.

use loadstone_wire::{self as wire, Codec, Compression, WireError};
use std::cell::RefCell;

pub(crate) struct CompressionLayer(wire::CompressionLayer);

/// What compression needs while it works, and not between two calls: one for all connections of a
/// thread.
#[derive(Default)]
struct Workbench {
    codec: Codec,
    packed: Vec<u8>,
}

thread_local! {
    static WORKBENCH: RefCell<Workbench> = RefCell::default();
}

impl CompressionLayer {
    pub(crate) fn new(by: Compression) -> Self {
        Self(wire::CompressionLayer::new(by))
    }

    pub(crate) fn begin_command(&mut self) {
        self.0.begin_command();
    }

    /// `send` gets the packets; it must not pack anything itself.
    pub(crate) fn pack<T>(&mut self, plain: &[u8], send: impl FnOnce(&[u8]) -> T) -> T {
        WORKBENCH.with_borrow_mut(|bench| {
            bench.packed.clear();
            self.0.pack(&mut bench.codec, plain, &mut bench.packed);
            send(&bench.packed)
        })
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.0.feed(bytes);
    }

    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, WireError> {
        WORKBENCH.with_borrow_mut(|bench| self.0.read(&mut bench.codec, out))
    }

    pub(crate) fn has_more(&self) -> bool {
        self.0.has_more()
    }
}
