"""The files of `fileio`: what is created, what is left alone, and which errors are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.model.host_test import FileioTest
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.host import files as host_files
from loadstone.sysbench.log import Log

QUIET = Log(0)
BLOCK = 16 * 1024


def files(folder: Path, num: int = 2, total_size: int = 100_000) -> FileioTest:
    return FileioTest(folder=folder, num=num, total_size=total_size, mode="rndrd")


def prepare(test: FileioTest) -> None:
    assert host_files.prepare(test, QUIET, lambda: False)


def test_files_are_made_of_whole_blocks_that_no_disk_makes_smaller(tmp_path: Path) -> None:
    prepare(files(tmp_path))
    first, second = ((tmp_path / f"test_file.{number}").read_bytes() for number in (0, 1))
    assert len(first) == len(second) == 4 * BLOCK
    assert first != second
    assert len(set(first)) == 256
    assert (tmp_path / "test_file.0").stat().st_mode & 0o777 == 0o600


def test_what_there_is_of_a_file_stays(tmp_path: Path) -> None:
    (tmp_path / "test_file.0").write_bytes(b"mine" * 1000)
    (tmp_path / "test_file.1").write_bytes(b"long" * 100_000)
    prepare(files(tmp_path))
    assert (tmp_path / "test_file.0").read_bytes()[:4000] == b"mine" * 1000
    assert (tmp_path / "test_file.0").stat().st_size == 4000 + 3 * BLOCK
    assert (tmp_path / "test_file.1").read_bytes() == b"long" * 100_000


@pytest.mark.parametrize("flag", ["sync", "dsync", "direct"])
def test_files_are_made_with_the_flags_that_are_asked_for(tmp_path: Path, flag: str) -> None:
    test = files(tmp_path).model_copy(update={"extra_flags": (flag,)})
    try:
        prepare(test)
    except Fatal as error:
        if flag != "direct":
            raise
        pytest.skip(f"this file system has no direct I/O: {error.message}")
    assert (tmp_path / "test_file.1").stat().st_size == 4 * BLOCK


def test_a_wish_to_stop_is_heard_between_two_pieces(tmp_path: Path) -> None:
    test = files(tmp_path, total_size=8 * 2**20)
    assert not host_files.prepare(test, QUIET, lambda: True)
    assert (tmp_path / "test_file.0").stat().st_size == 2**20
    assert not (tmp_path / "test_file.1").exists()


def test_what_cannot_be_opened_is_told_in_sysbenchs_words(tmp_path: Path) -> None:
    (tmp_path / "test_file.0").mkdir()
    with pytest.raises(Fatal, match=r"^Can't open file errno = 21 \(Is a directory\)$"):
        prepare(files(tmp_path))


def test_what_cannot_be_written_is_told_in_sysbenchs_words(tmp_path: Path) -> None:
    (tmp_path / "test_file.0").symlink_to("/dev/full")
    with pytest.raises(Fatal, match=r"^Failed to write file! errno = 28 \(No space left"):
        prepare(files(tmp_path))


def test_only_plain_files_of_the_test_are_removed(tmp_path: Path) -> None:
    prepare(files(tmp_path, num=3))
    (tmp_path / "test_file.1").unlink()
    (tmp_path / "test_file.1").mkdir()
    (tmp_path / "kept").touch()
    (tmp_path / "test_file.3").symlink_to(tmp_path / "kept")
    host_files.cleanup(files(tmp_path, num=4), QUIET)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"test_file.1", "test_file.3", "kept"}


def test_a_file_that_is_missing_or_short_is_named(tmp_path: Path) -> None:
    missing = host_files.trouble_with(files(tmp_path), QUIET)
    assert missing is not None
    assert missing.fatal == ("Cannot open file 'test_file.0' errno = 2 (No such file or directory)")
    prepare(files(tmp_path))
    assert host_files.trouble_with(files(tmp_path), QUIET) is None
    short = host_files.trouble_with(files(tmp_path, total_size=2**20), QUIET)
    assert short is not None
    assert short.fatal == "Size of file 'test_file.0' is 64KiB, but at least 512KiB is expected."
    new = files(tmp_path, num=3).model_copy(update={"mode": "seqwr"})
    assert host_files.trouble_with(new, QUIET) is None


def test_new_files_are_as_long_as_the_other_modes_want_them(tmp_path: Path) -> None:
    for number in (0, 1):
        (tmp_path / f"test_file.{number}").write_bytes(b"x" * 3 * BLOCK)
    host_files.lengthen(files(tmp_path))
    assert host_files.trouble_with(files(tmp_path), QUIET) is None
    assert (tmp_path / "test_file.1").stat().st_size == 50_000
