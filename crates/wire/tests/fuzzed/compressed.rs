//! Compressed packets: any content, any announced length.

use super::read;
use loadstone_wire::{Codec, Compression, CompressionLayer, WireError};
use std::mem::discriminant;

/// Beyond this length the rest of a stream need not be read.
const ENOUGH: usize = 1 << 22;

pub(super) fn compressed(data: &[u8]) {
    let Some((choices, stream)) = read(data, 0, 1) else { return };
    let by = if choices.flag(0) { Compression::Zstd } else { Compression::Zlib };
    let whole = unpacked(by, &[&stream]);
    let pieces: Vec<&[u8]> = stream.chunks(choices.piece()).collect();
    let cut = unpacked(by, &pieces);
    let kind = |found: &Result<Vec<u8>, WireError>| found.as_ref().err().map(discriminant);
    assert_eq!(kind(&whole), kind(&cut));
    assert!(whole.ok() == cut.ok(), "it depends on how the stream is cut");
}

fn unpacked(by: Compression, pieces: &[&[u8]]) -> Result<Vec<u8>, WireError> {
    let (mut layer, mut codec) = (CompressionLayer::new(by), Codec::default());
    let (mut plain, mut room) = (Vec::new(), [0; 4096]);
    for piece in pieces {
        layer.feed(piece);
        loop {
            let count = layer.read(&mut codec, &mut room)?;
            if count == 0 {
                break;
            }
            plain.extend_from_slice(&room[..count]);
            if plain.len() > ENOUGH {
                return Ok(plain);
            }
        }
    }
    Ok(plain)
}
