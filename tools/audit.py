"""Known vulnerabilities of the Python packages that are shipped, as pip-audit finds them.

Ends with 1 where there is one. Where no database can be had the answer is "not evaluated".
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
SHIPPED = ("bundle", "cluster", "lts-cpu")
PATIENCE_S = 120


def main() -> int:
    """Ask the pip-audit that is named about each lock of what is shipped."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.audit PATH-OF-PIP-AUDIT")
    failed = False
    for name in SHIPPED:
        lock = PROJECT / "requirements" / f"{name}.txt"
        found, said = asked(sys.argv[1], lock)
        if found is None:
            print(f"advisories for requirements/{name}.txt: not evaluated ({said})")
            continue
        known = list(vulnerabilities(found))
        print(f"advisories for requirements/{name}.txt: {counted(found['dependencies'], known)}")
        for line in known:
            print(f"  {line}")
        failed = failed or bool(known)
    return 1 if failed else 0


def asked(program: str, lock: Path) -> tuple[dict[str, Any] | None, str]:
    """What pip-audit found, or `None` and why it could not look.

    Its exit code is 1 for a vulnerability as for anything else; only a look that came to its end
    leaves a report.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = [program, "--disable-pip", "--no-deps", "--require-hashes", "-r", str(lock)]
        words += ["--progress-spinner", "off", "--format", "json", "--output", str(report)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, str(error)
        if not report.is_file() or not report.read_text().strip():
            return None, (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        found: dict[str, Any] = json.loads(report.read_text())
        return found, ""


def vulnerabilities(found: dict[str, Any]) -> Iterator[str]:
    """One line each: which package, which advisory, and what fixes it."""
    for package in found["dependencies"]:
        for each in package.get("vulns", ()):
            fixed = ", ".join(each["fix_versions"]) or "nothing yet"
            yield f"{package['name']} {package['version']}: {each['id']}, fixed by {fixed}"


def counted(packages: list[dict[str, Any]], known: list[str]) -> str:
    """A one-sentence summary; it names what was not checked, since that is not fine."""
    unseen = {each["name"]: each["skip_reason"] for each in packages if "skip_reason" in each}
    if len(unseen) == len(packages):
        return f"not evaluated ({next(iter(unseen.values()), 'no package')})"
    said = f"{len(known)} known in {len(packages) - len(unseen)} packages"
    return f"{said}; not evaluated: {', '.join(unseen)}" if unseen else said


if __name__ == "__main__":
    sys.exit(main())
