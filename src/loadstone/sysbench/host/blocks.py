"""Blocks of `fileio --validate`: after the data come its CRC-32 and its offset in the file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from loadstone.model.host_test import Damage

_SEAL = struct.Struct("<IQ")
SEAL_BYTES = _SEAL.size


def seal(blocks: memoryview, block_size: int, place: int) -> None:
    """Write checksum and offset into each block; the first is at offset `place` of its file."""
    for begin in range(0, len(blocks), block_size):
        block = blocks[begin : begin + block_size]
        data = len(block) - SEAL_BYTES
        if data > 0:
            _SEAL.pack_into(block, data, zlib.crc32(block[:data]), place + begin)


def told(damage: Damage) -> Iterator[str]:
    """Messages of sysbench about a block that differs from what was written."""
    if damage.what == "sum":
        yield f"Checksum mismatch in block with offset: {damage.offset}"
        yield (
            f"    Calculated value: {damage.calculated or 0:#x}    Stored value: {damage.stored:#x}"
        )
    else:
        yield "Offset mismatch in block:"
        yield f"   Actual offset: {damage.offset}    Stored offset: {damage.stored}"
    yield f"Validation failed on file {damage.file}, block offset {damage.offset}, exiting..."
