"""What a wheel installs outside of the package: manual pages, completion, schemas for editors.

python -m tools.wheel_data FOLDER

What maturin finds in FOLDER, `data` of the wheel's data folder, goes to the environment's own
folder, so that `man`, shells and editors find the files where an environment is on their paths, or
where pipx or a distribution's package puts them.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from click.shell_completion import get_completion_class

from loadstone.cli.app import app
from loadstone.cli.commands.completion import SHELLS, VARIABLE
from loadstone.cli.commands.schema import FILES, schema_of_kind
from tools import man

COMPLETION = {
    "bash": "share/bash-completion/completions/loadstone",
    "zsh": "share/zsh/site-functions/_loadstone",
    "fish": "share/fish/vendor_completions.d/loadstone.fish",
}
"""Where each shell looks below a prefix such as /usr."""


def write(folder: Path) -> None:
    """Fill the folder, which holds nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    man.write(folder / "share/man/man1")
    for shell in SHELLS:
        made_by = get_completion_class(shell)
        assert made_by is not None
        place = folder / COMPLETION[shell]
        place.parent.mkdir(parents=True)
        place.write_text(made_by(app, {}, "loadstone", VARIABLE).source())
    schemas = folder / "share/loadstone"
    schemas.mkdir(parents=True)
    for kind in FILES:
        text = json.dumps(schema_of_kind(kind), indent=2)
        (schemas / f"{kind}.schema.json").write_text(f"{text}\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
