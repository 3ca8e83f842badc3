"""Makes a data folder quickly: initialised once for each server binary, then copied.

MySQL takes seconds to initialise, MariaDB a fraction of one; a copy takes about a tenth.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.copying import copy_folder
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.state import locked

_FORMAT = "1"


def copy_template(binary: ServerBinary, datadir: Path) -> None:
    """Create `datadir` as an initialised data folder of that server, with no users but root."""
    copy_folder(template_of(binary), datadir)


def template_of(binary: ServerBinary) -> Path:
    """The initialised folder that is copied, which the first call makes."""
    folder = cache_folder("templates")
    template = folder / f"{binary.flavour}-{binary.version}-{build_of(binary)}"
    if template.is_dir():
        return template
    with locked(folder / f"{template.name}.lock"):
        if not template.is_dir():
            with _half_made(template) as half:
                _initialise(binary, half / "data")
                (half / "data").rename(template)
    return template


def cache_folder(kind: str) -> Path:
    """The folder for data of this kind that can be made again."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(home, "loadstone", kind)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def build_of(binary: ServerBinary) -> str:
    """Identifies a server's program, and the user who runs it."""
    stat = binary.program.stat()
    facts = (_FORMAT, binary.program.resolve(), stat.st_size, stat.st_mtime_ns, os.geteuid())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _half_made(template: Path) -> Iterator[Path]:
    # Our lock covers only this template: others may be in the making at the same time.
    prefix = f"{template.name}.making-"
    for left in template.parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(left, ignore_errors=True)  # left by a process that was killed
    half = Path(tempfile.mkdtemp(prefix=prefix, dir=template.parent))
    try:
        yield half
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _initialise(binary: ServerBinary, datadir: Path) -> None:
    PROGRAMS[binary.family].initialise(binary, datadir)
