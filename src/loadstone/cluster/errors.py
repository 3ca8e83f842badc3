"""What can be wrong with a cluster."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode


class ClusterError(LoadstoneError):
    """The cluster cannot be reached, is too small, or its nodes do not fit together."""

    exit_code = ExitCode.CLUSTER
