//! Working memory of compressors and decompressors.

use super::Compression;
use crate::WireError;
use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use std::fmt;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// The usual level for zlib.
const ZLIB_LEVEL: u32 = 6;

/// The usual level for zstd. The login packet sends it to the server, which then uses it too.
pub(crate) const ZSTD_LEVEL: u8 = 3;

/// A packet holds less than 16 MiB, so a frame with a larger window would only waste memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 24;

/// How much the room for decompressed bytes grows at a time: by what really arrives, not by what a
/// header announces.
const CHUNK: usize = 64 * 1024;

/// Compresses and decompresses, for any number of connections of one thread in turn. Each part is
/// created when it is first needed; all together take some 700 KB.
#[derive(Default)]
pub struct Codec {
    deflate: Option<Compress>,
    inflate: Option<Decompress>,
    zstd_compress: Option<zstd::bulk::Compressor<'static>>,
    zstd_decompress: Option<Decoder<'static>>,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

impl Codec {
    /// Compresses `plain` into `room`; returns how many bytes it took. `None`: more than `room`, so
    /// that it is not worth it.
    pub(super) fn compress(
        &mut self,
        by: Compression,
        plain: &[u8],
        room: &mut [u8],
    ) -> Option<usize> {
        match by {
            Compression::Zlib => self.deflate(plain, room),
            Compression::Zstd => self.zstd_compress(plain, room),
        }
    }

    fn deflate(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        let level = flate2::Compression::new(ZLIB_LEVEL);
        let deflate = self.deflate.get_or_insert_with(|| Compress::new(level, true));
        deflate.reset();
        let status = deflate.compress(plain, room, FlushCompress::Finish);
        let length = usize::try_from(deflate.total_out()).ok()?;
        matches!(status, Ok(Status::StreamEnd)).then_some(length)
    }

    fn zstd_compress(&mut self, plain: &[u8], room: &mut [u8]) -> Option<usize> {
        // Without memory for one, packets are sent uncompressed: the protocol allows that for each.
        if self.zstd_compress.is_none() {
            self.zstd_compress = zstd::bulk::Compressor::new(i32::from(ZSTD_LEVEL)).ok();
        }
        self.zstd_compress.as_mut()?.compress_to_buffer(plain, room).ok()
    }

    /// Decompresses a whole packet, appending exactly `length` bytes to `out`.
    pub(super) fn decompress(
        &mut self,
        by: Compression,
        packed: &[u8],
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        match by {
            Compression::Zlib => {
                let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
                inflate.reset(true);
                unpack(inflate, packed, length, out)
            }
            Compression::Zstd => {
                if self.zstd_decompress.is_none() {
                    self.zstd_decompress = zstd_decoder();
                }
                let decoder = self.zstd_decompress.as_mut().ok_or(NO_MEMORY)?;
                decoder.reinit().map_err(|_| NO_MEMORY)?;
                unpack(decoder, packed, length, out)
            }
        }
    }
}

fn zstd_decoder() -> Option<Decoder<'static>> {
    let mut decoder = Decoder::new().ok()?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).ok()?;
    Some(decoder)
}

const NO_MEMORY: WireError = WireError::Compressed { what: "there is no memory to decompress it" };
const DAMAGED: WireError = WireError::Compressed { what: "its content is damaged" };
const TOO_MUCH: WireError = WireError::Compressed { what: "it holds more than it announces" };
const TOO_LITTLE: WireError = WireError::Compressed { what: "it holds less than it announces" };

/// The progress of one call of a decompressor.
struct Stride {
    taken: usize,
    given: usize,
    ended: bool,
}

/// A decompressor that works on the available input.
trait Stream {
    fn go_on(&mut self, packed: &[u8], room: &mut [u8]) -> Result<Stride, WireError>;
}

impl Stream for Decompress {
    fn go_on(&mut self, packed: &[u8], room: &mut [u8]) -> Result<Stride, WireError> {
        let (taken, given) = (self.total_in(), self.total_out());
        let status = self.decompress(packed, room, FlushDecompress::None).map_err(|_| DAMAGED)?;
        Ok(Stride {
            taken: (self.total_in() - taken) as usize,
            given: (self.total_out() - given) as usize,
            ended: status == Status::StreamEnd,
        })
    }
}

impl Stream for Decoder<'static> {
    fn go_on(&mut self, packed: &[u8], room: &mut [u8]) -> Result<Stride, WireError> {
        let mut input = InBuffer::around(packed);
        let mut output = OutBuffer::around(room);
        let more = self.run(&mut input, &mut output).map_err(|_| DAMAGED)?;
        Ok(Stride { taken: input.pos(), given: output.pos(), ended: more == 0 })
    }
}

/// The room has one byte more than announced, so that a longer stream is noticed there and not
/// after megabytes.
fn unpack(
    stream: &mut impl Stream,
    mut packed: &[u8],
    length: usize,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let start = out.len();
    let mut given = 0;
    loop {
        out.resize(start + given + CHUNK.min(length + 1 - given), 0);
        let room = out.get_mut(start + given..).unwrap_or_default();
        let stride = stream.go_on(packed, room)?;
        packed = packed.get(stride.taken..).unwrap_or_default();
        given += stride.given;
        if given > length || (stride.ended && !packed.is_empty()) {
            return Err(TOO_MUCH);
        }
        if stride.ended {
            out.truncate(start + given);
            return if given == length { Ok(()) } else { Err(TOO_LITTLE) };
        }
        if stride.taken == 0 && stride.given == 0 {
            return Err(TOO_LITTLE);
        }
    }
}
