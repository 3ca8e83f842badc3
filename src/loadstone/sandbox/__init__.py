"""Throwaway database servers: finds, configures, starts and removes them."""

from loadstone.sandbox.account import Account
from loadstone.sandbox.binaries import find_server
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.certificates import Certificates
from loadstone.sandbox.disk import Disk
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.sandbox import (
    Sandbox,
    clear_leftovers,
    find_sandbox,
    kept_sandboxes,
    list_sandboxes,
    sandbox_at,
)
from loadstone.sandbox.spec import SandboxSpec, parse_setting
from loadstone.sandbox.starting import start_sandbox

__all__ = [
    "Account",
    "Certificates",
    "Disk",
    "Sandbox",
    "SandboxError",
    "SandboxSpec",
    "ServerBinary",
    "clear_leftovers",
    "find_sandbox",
    "find_server",
    "kept_sandboxes",
    "list_sandboxes",
    "parse_setting",
    "sandbox_at",
    "start_sandbox",
]
