"""The host tests with Debian's sysbench and with ours: only numbers may differ."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sysbench.comparing import compare, masked
from sysbench.conftest import Program

pytestmark = pytest.mark.sysbench

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)
pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

# Small files, in case an expected error is missing.
OF_A_MB = "--file-num=2 --file-total-size=1M"
FILEIO = f"fileio {OF_A_MB}"

REFUSED = [
    "cpu",
    "fileio --nope=1",
    "cpu prepare",
    "memory cleanup",
    "threads nosuch",
    "fileio prewarm",
    "mutex run extra",
    "cpu --nope=1 run",
    "cpu --nope=1 --nada=2 nosuch",
    "cpu --tables=3 help",
    "--memory-hugetlb=maybe memory nosuch",
    "cpu --cpu-max-prime=x run",
    "cpu --cpu-max-prime=1k run",
    "cpu --cpu-max-prime=x --nope run",
    "cpu --cpu-max-prime=x prepare",
    "cpu --cpu-max-prime=x help",
    "cpu --cpu-max-prime=0 run",
    "cpu --cpu-max-prime run",
    "cpu --cpu-max-prime=-1 --verbosity=0 run",
    "cpu --verbosity=6 run",
    "cpu --rand-type=nosuch run",
    "memory --memory-block-size=0 run",
    "memory --memory-block-size=12 run",
    "memory --memory-block-size=1.5K run",
    "memory --memory-oper=nosuch --memory-scope=nosuch run",
    "memory --memory-oper=nosuch --memory-access-mode=nosuch run",
    "memory --memory-access-mode=nosuch run",
    "threads --thread-yields=x run",
    "mutex --mutex-num=x run",
    "fileio run",
    "fileio --verbosity=1 run",
    "fileio --file-num=0 run",
    "fileio --file-num=0 cleanup",
    "fileio --file-total-size=0 --file-block-size=0 run",
    f"{FILEIO} --file-total-size=4X prepare",
    "fileio --file-test-mode=nosuch --file-io-mode=nosuch run",
    f"{FILEIO} --file-io-mode=nosuch --file-merged-requests=-1 prepare",
    f"{FILEIO} --file-merged-requests=-1 --file-block-size=0 prepare",
    f"{FILEIO} --file-block-size=-1 --file-extra-flags=nosuch prepare",
    f"{FILEIO} --file-extra-flags=nosuch,sync --file-fsync-freq=-1 prepare",
    f"{FILEIO} --file-fsync-freq=-1 --file-fsync-mode=nosuch prepare",
    f"{FILEIO} --file-fsync-mode=nosuch --file-rw-ratio=-1 prepare",
    f"{FILEIO} --file-io-mode=async --file-async-backlog=0 --file-rw-ratio=-1 prepare",
    f"{FILEIO} --file-io-mode=async --file-async-backlog=0 --file-test-mode=rndrd run",
    "fileio --file-num=2 --file-test-mode=rndrd run",
    "fileio --file-num=2 --file-total-size=1500KB --file-test-mode=rndrw --verbosity=5 run",
    "fileio --file-test-mode=seqrd --verbosity=1 run",
]

WITHOUT_FILES = [
    *(f"{test} help" for test in ("fileio", "cpu", "memory", "threads", "mutex")),
    "--verbosity=1 fileio help",
    "fileio cleanup",
    "cpu --events=3 run",
    "--cpu-max-prime=100 cpu --events=5 --threads=2 --verbosity=5 run",
    "cpu run --cpu_max_prime=100 --events=5 --debug --histogram --rand-seed=3",
    "cpu --cpu-max-prime=1 --events=5 --percentile=0 --validate run",
    "cpu --events=2 --verbosity=1 run",
    "cpu --events=2 --time=1 --forced-shutdown=5 run",
    "--test=cpu --max-requests=2 --num-threads=1 run",
    "cpu --rate=20 --time=2 --report-interval=1 run",
    "cpu --rate=20 --time=2 --report-checkpoints=1 --verbosity=4 run",
    "memory --memory-total-size=1M --events=10 run",
    "memory --memory-total-size=1M --threads=2 --memory-scope=local run",
    "memory --memory-total-size=1m --memory-block-size=4kb --memory-access-mode=rnd run",
    "memory --memory-total-size=1M --memory-oper=read --verbosity=5 --histogram run",
    "memory --memory-total-size=1M --memory-oper=none --time=0 run",
    "memory --memory-total-size=0 --rate=20 --time=2 --report-interval=1 run",
    "memory --rate=20 --time=2 --report-checkpoints=1 run",
    "threads --events=2 run",
    "threads --events=2 --threads=2 --verbosity=5 run",
    "threads --rate=20 --time=2 --report-interval=1 --percentile=0 run",
    "mutex --mutex-locks=10 --mutex-loops=10 --threads=3 run",
    "mutex --mutex-locks=10 --mutex-loops=10 --events=5 --debug --histogram run",
    "mutex --mutex-num=1 --mutex-locks=1 --mutex-loops=0 --time=0 run",
]

WITH_FILES = [
    f"{OF_A_MB} --file-test-mode=seqrd --events=7 run",
    f"{OF_A_MB} --file-test-mode=seqrewr --events=7 --file-merged-requests=4 run",
    f"{OF_A_MB} --file-test-mode=seqwr --events=7 --file-fsync-end=off run",
    f"{OF_A_MB} --file-test-mode=rndrd --events=7 --file-block-size=4K run",
    f"{OF_A_MB} --file-test-mode=rndwr --events=7 --file-fsync-all run",
    f"{OF_A_MB} --file-test-mode=rndrw --events=7 --file-rw-ratio=x --file-fsync-freq=0 run",
    f"{OF_A_MB} --file-test-mode=rndrw --events=7 --file-fsync-mode=fdatasync --threads=2 run",
    f"{OF_A_MB} --file-test-mode=rndrd --events=7 --file-io-mode=mmap --histogram run",
    f"{OF_A_MB} --file-test-mode=rndwr --events=7 --file-extra-flags=dsync run",
    f"{OF_A_MB} --file-test-mode=seqwr --events=7 --verbosity=5 run",
    f"{OF_A_MB} --file-test-mode=rndrw --rate=20 --time=2 --report-interval=1 run",
    f"{OF_A_MB} --file-test-mode=rndrw --rate=20 --time=2 --report-checkpoints=1 run",
    f"{OF_A_MB} prepare",
    "--file-num=2 --file-total-size=800K --file-test-mode=rndrd --events=7 run",
    "--file-num=2 --file-total-size=1111111 --file-test-mode=rndrd --events=7 run",
    "--file-num=3 --file-total-size=1M --file-test-mode=rndrd --events=7 run",
]


@pytest.mark.parametrize("line", [*REFUSED, *WITHOUT_FILES])
def test_a_line_that_needs_no_files(line: str, ours_here: Program, theirs: Program) -> None:
    compare(ours_here, theirs, tuple(line.split(" ")))


@pytest.mark.parametrize("line", WITH_FILES)
def test_a_line_that_uses_files(line: str, ours_here: Program, theirs: Program) -> None:
    assert theirs("fileio", *OF_A_MB.split(), "prepare").returncode == 0
    compare(ours_here, theirs, ("fileio", *line.split(" ")))


def test_asynchronous_requests_where_the_system_has_them(
    ours_here: Program, theirs: Program
) -> None:
    assert theirs("fileio", *OF_A_MB.split(), "prepare").returncode == 0
    words = ("fileio", *OF_A_MB.split(), "--file-io-mode=async", "--file-test-mode=rndrd")
    if theirs(*words, "--events=1", "run").returncode != 0:
        pytest.skip("io_setup is refused here")
    compare(ours_here, theirs, (*words, "--events=7", "run"))


# No files, all, some, too many; 100 KiB are not a whole number of blocks for each file.
LIFE_OF_FILES = [
    "--file-num=3 --file-total-size=100K prepare",
    "--file-num=3 --file-total-size=100K prepare",
    "--file-num=3 --file-total-size=1M --verbosity=5 prepare",
    "--file-num=3 --file-total-size=300K prepare",
    "--file-num=3 --file-total-size=300K --file-test-mode=seqrd --events=5 run",
    "--file-num=3 --file-total-size=100K --file-test-mode=seqwr --events=9 run",
    "--file-num=3 --file-total-size=100K --file-test-mode=rndrd --events=5 run",
    "--file-num=2 --file-total-size=100K cleanup",
    "--file-num=3 --file-total-size=100K --file-test-mode=rndrd --events=5 run",
    "cleanup",
]


def test_files_live_the_same_life(ours_here: Program, theirs: Program, tmp_path: Path) -> None:
    def live(program: Program) -> list[tuple[list[str], dict[str, int]]]:
        told = []
        for line in LIFE_OF_FILES:
            done = program("fileio", *line.split(" "))
            lengths = {file.name: file.stat().st_size for file in tmp_path.glob("test_file.*")}
            told.append((masked(done.stdout + done.stderr), lengths))
        return told

    for ours, wanted in zip(live(ours_here), live(theirs), strict=True):
        assert ours == wanted


def test_each_uses_the_files_of_the_other(ours_here: Program, theirs: Program) -> None:
    words = ("fileio", "--file-num=3", "--file-total-size=100K")
    run = ("--file-test-mode=rndrw", "--events=5", "run")
    for first, second in ((ours_here, theirs), (theirs, ours_here)):
        for one, command in ((first, ("prepare",)), (second, run), (second, ("cleanup",))):
            done = one(*words, *command)
            assert done.returncode == 0, done.stdout + done.stderr


def test_options_of_a_test_in_a_config_file_mean_nothing(
    ours_here: Program, theirs: Program, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text("cpu-max-prime=x\nevents=2\nnosuch=1\n")
    words = (f"--config-file={file}", "cpu", "run")
    compare(ours_here, theirs, words)
    assert "Prime numbers limit: 10000\n" in ours_here(*words).stdout


def test_the_program_is_the_same_as_a_process(ours: Program, theirs: Program) -> None:
    compare(ours, theirs, ("cpu", "--events=5", "run"))
