"""Whether this machine's kernel keeps huge pages for a throwaway server that needs them."""

from __future__ import annotations

import re

from loadstone.experiments.variants import place_of
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment
from loadstone.model.message import say

_TOTAL = re.compile(r"^HugePages_Total:\s*(?P<pages>\d+)$", re.MULTILINE)
_SETTING = "huge_pages"


class NotEvaluated(LoadstoneError):
    """What an experiment compares does not exist on this machine; nothing was started."""

    exit_code = ExitCode.NOT_SUPPORTED


def check_huge_pages(experiment: Experiment, meminfo: str) -> None:
    """Refuse an experiment whose throwaway servers need huge pages, where there are none.

    Args:
        experiment: the experiment.
        meminfo: the content of /proc/meminfo; empty if this machine has no such file.

    Raises:
        NotEvaluated: the kernel keeps none.
    """
    specs = [place_of(experiment, variant).sandbox for variant in experiment.variants]
    if not any(spec and spec.settings.get(_SETTING) == "on" for spec in specs):
        return
    found = _TOTAL.search(meminfo)
    if found and int(found["pages"]):
        return
    raise NotEvaluated(
        say("not evaluated: this machine's kernel keeps no huge pages (HugePages_Total is 0)"),
        say("as root: sysctl vm.nr_hugepages=N, with room for the shared buffers; or two servers"),
    )
