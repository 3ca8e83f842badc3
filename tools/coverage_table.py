"""What share of lines the tests entered: a line a crate and a package of src, and both totals.

usage: cargo llvm-cov report --json --summary-only | python -m tools.coverage_table

The crates' counts come on stdin, those of src from the file that coverage.py keeps (`.coverage`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from coverage import Coverage
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print the table."""
    table = Table(title="lines that tests enter", title_justify="left")
    table.add_column("of")
    for head in ("lines", "entered", "share"):
        table.add_column(head, justify="right")
    for whole, parts in (("crates", of_crates(sys.stdin.read())), ("src", of_packages())):
        lines, entered = Counter[str](), Counter[str]()
        for part, (there, met) in parts:
            lines[part] += there
            entered[part] += met
        for part in sorted(lines):
            table.add_row(f"{whole}/{part}", *_figures(lines[part], entered[part]))
        table.add_row(f"{whole}, all", *_figures(lines.total(), entered.total()), style="bold")
        table.add_section()
    Console(width=80).print(table)


def of_crates(exported: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each file's crate, with its lines and those that were entered."""
    for file in json.loads(exported)["data"][0]["files"]:
        path = Path(file["filename"])
        if path.is_relative_to(PROJECT / "crates"):
            counts = file["summary"]["lines"]
            yield (
                path.relative_to(PROJECT / "crates").parts[0],
                (counts["count"], counts["covered"]),
            )


def of_packages() -> Iterator[tuple[str, tuple[int, int]]]:
    """Each file's package, with its lines and those that were entered."""
    kept = Coverage(data_file=PROJECT / ".coverage")
    kept.load()
    package = PROJECT / "src" / "loadstone"
    for name in kept.get_data().measured_files():
        path = Path(name)
        if path.is_relative_to(package):
            _, lines, _, missing, _ = kept.analysis2(name)
            within = path.relative_to(package).parts
            part = within[0] if len(within) > 1 else "loadstone"
            yield part, (len(lines), len(lines) - len(missing))


def _figures(lines: int, entered: int) -> tuple[str, str, str]:
    share = f"{100 * entered / lines:.1f} %" if lines else "-"
    return f"{lines:,}", f"{entered:,}", share


if __name__ == "__main__":
    main()
