//! Checksums of blocks: the data of a request is followed by its CRC-32 (zlib's) and its offset in
//! the file, each little-endian. sysbench 1.0 writes the same with `--validate`.

use super::files::Files;
use super::layout::Span;
use super::plan::{PLACE, SEAL, SUM};
use crate::error::{Broken, Damage, HostError};

/// The remainders of all bytes, reflected, for the polynomial of IEEE 802.3.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder & 1;
            remainder >>= 1;
            if carry == 1 {
                remainder ^= 0xedb8_8320;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

fn crc32(bytes: &[u8]) -> u32 {
    let step = |sum: u32, &byte: &u8| TABLE[usize::from(sum as u8 ^ byte)] ^ (sum >> 8);
    !bytes.iter().fold(!0, step)
}

/// Writes checksum and offset after the data. There is room:
/// [`FilePlan::check`](super::FilePlan::check) makes sure of that.
pub(super) fn seal(block: &mut [u8], offset: u64) {
    if let Some((data, seal)) = block.split_last_chunk_mut::<SEAL>() {
        seal[..SUM].copy_from_slice(&crc32(data).to_le_bytes());
        seal[SUM..].copy_from_slice(&offset.to_le_bytes());
    }
}

fn check(block: &[u8], offset: u64) -> Result<(), Broken> {
    let Some((data, seal)) = block.split_last_chunk::<SEAL>() else { return Ok(()) };
    let (mut sum, mut place) = ([0; SUM], [0; PLACE]);
    sum.copy_from_slice(&seal[..SUM]);
    place.copy_from_slice(&seal[SUM..]);
    let (calculated, stored) = (crc32(data), u32::from_le_bytes(sum));
    if calculated != stored {
        return Err(Broken::Sum { calculated, stored });
    }
    match u64::from_le_bytes(place) {
        stored if stored == offset => Ok(()),
        stored => Err(Broken::Place { stored }),
    }
}

/// Whether the data read at this place was written there.
pub(super) fn verify(files: &Files, span: Span, block: &[u8]) -> Result<(), HostError> {
    check(block, span.offset).map_err(|what| {
        let damage = Damage { file: span.file, offset: span.offset, what };
        HostError::Damaged { path: files.path(span.file), damage }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_zlib() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn a_block_that_was_changed_or_moved_is_noticed() {
        let mut block = [7; 64];
        seal(&mut block, 128);
        assert_eq!(check(&block, 128), Ok(()));
        assert_eq!(check(&block, 0), Err(Broken::Place { stored: 128 }));
        block[5] = 8;
        assert!(matches!(check(&block, 128), Err(Broken::Sum { .. })));
    }
}
