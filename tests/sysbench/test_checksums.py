"""`fileio --validate` with Debian's sysbench and with ours: each verifies what the other wrote."""

from __future__ import annotations

import shutil
import struct
from itertools import permutations
from pathlib import Path

import pytest

from sysbench.comparing import compare
from sysbench.conftest import Program

pytestmark = pytest.mark.sysbench

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)
pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

FILES = ("fileio", "--file-num=2", "--file-total-size=256K", "--file-block-size=16K", "--validate")
BLOCK = 16 * 1024


def test_each_finds_what_the_other_wrote_in_order(ours_here: Program, theirs: Program) -> None:
    for writer, reader in permutations((ours_here, theirs)):
        assert writer(*FILES, "prepare").returncode == 0
        for mode in ("seqrd", "rndwr", "rndrd", "seqrewr", "seqrd", "seqwr", "seqrd"):
            writes = mode in ("rndwr", "seqrewr", "seqwr")
            done = (writer if writes else reader)(
                *FILES, f"--file-test-mode={mode}", "--events=16", "run"
            )
            assert done.returncode == 0, f"{mode}: {done.stdout}{done.stderr}"
        assert writer(*FILES, "cleanup").returncode == 0


@pytest.mark.parametrize("more", [(), ("--file-merged-requests=4",), ("--file-io-mode=mmap",)])
def test_a_run_is_told_of_alike(more: tuple[str, ...], ours_here: Program, theirs: Program) -> None:
    assert theirs(*FILES, "prepare").returncode == 0
    # Each merged request has one checksum, so whole requests are read as they were written.
    for mode in ("seqrewr", "seqrd"):
        compare(ours_here, theirs, (*FILES, *more, f"--file-test-mode={mode}", "--events=4", "run"))


def test_damage_is_told_in_the_same_words(
    ours_here: Program, theirs: Program, tmp_path: Path
) -> None:
    words = (*FILES, "--file-test-mode=seqrd", "--events=16", "run")
    assert ours_here(*FILES, "prepare").returncode == 0
    path = tmp_path / "test_file.1"
    whole = path.read_bytes()

    def told(damaged: bytes) -> list[str]:
        path.write_bytes(damaged)
        mine, other = ours_here(*words), theirs(*words)
        assert (mine.returncode, mine.stdout.splitlines()[1:]) == (1, other.stdout.splitlines()[1:])
        return [line for line in mine.stdout.splitlines() if line.startswith("FATAL")]

    changed = bytearray(whole)
    changed[BLOCK + 5] ^= 1
    assert told(bytes(changed))[0] == f"FATAL: Checksum mismatch in block with offset: {BLOCK}"
    moved = bytearray(whole)
    moved[2 * BLOCK - 8 : 2 * BLOCK] = struct.pack("<Q", 99)
    assert told(bytes(moved)) == [
        "FATAL: Offset mismatch in block:",
        f"FATAL:    Actual offset: {BLOCK}    Stored offset: 99",
        f"FATAL: Validation failed on file 1, block offset {BLOCK}, exiting...",
    ]


def test_a_block_too_small_for_a_checksum_is_refused(ours_here: Program) -> None:
    done = ours_here(*FILES, "--file-block-size=12", "prepare")
    assert done.returncode == 1
    assert "FATAL: Invalid value for file-block-size: a block with a checksum" in done.stdout
