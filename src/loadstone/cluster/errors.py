"""Errors of a cluster."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode


class ClusterError(LoadstoneError):
    """The cluster is unreachable or too small, its nodes do not fit together, or one was lost."""

    exit_code = ExitCode.CLUSTER
