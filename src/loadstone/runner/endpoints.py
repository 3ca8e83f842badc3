"""A target's URL resolved to an endpoint with its password."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.families import family_meant
from loadstone.lab.protection.whereabouts import with_listener
from loadstone.model.target import Endpoint, Target
from loadstone.sandbox import Sandbox, sandbox_at
from loadstone.servers.endpoint_request import DEFAULT_SCHEMA, EndpointRequest


def resolved(request: EndpointRequest, prompt: Callable[[str], str]) -> Endpoint:
    """The requested endpoint; `prompt` asks the user for a password, if one was requested.

    The URL that `sandbox start` shows works as it is. Of several hosts one is chosen.

    Raises:
        TargetUrlError: a URL or an option cannot be read.
        TargetError: an option file cannot be read, there is no socket where one is meant, or none
            of several hosts can be used.
    """
    meant = family_meant(request).candidates(request, prompt=prompt)
    return meant.choose([known(_with_schema(each)) for each in meant.endpoints])


def _with_schema(endpoint: Endpoint) -> Endpoint:
    if endpoint.target.database is not None:
        return endpoint
    target = endpoint.target.model_copy(update={"database": DEFAULT_SCHEMA})
    return endpoint.model_copy(update={"target": target})


def known(endpoint: Endpoint) -> Endpoint:
    """The endpoint with what is known of its place: a sandbox, or whether a server listens."""
    if sandbox := sandbox_at(endpoint.target):
        endpoint = _at_sandbox(endpoint, sandbox)
    return with_listener(endpoint)


def _at_sandbox(endpoint: Endpoint, sandbox: Sandbox) -> Endpoint:
    """The endpoint with a sandbox's TLS and password, which is in our own folder."""
    update: dict[str, object] = {"target": sandbox.reached(endpoint.target)}
    for account in sandbox.accounts if not endpoint.credentials.reveal() else ():
        if account.user == endpoint.target.user:
            found = {"password": account.password, "source": f"sandbox {sandbox.name}"}
            update["credentials"] = endpoint.credentials.model_copy(update=found)
            break
    return endpoint.model_copy(update=update)


def at_url(url: str) -> Endpoint:
    """The endpoint of a URL, with its password if that is known without asking.

    The password is from LOADSTONE_PASSWORD, the user's option file, a sandbox's own folder, or the
    URL.

    Raises:
        TargetUrlError, TargetError: as `resolved`.
    """
    return resolved(EndpointRequest(url=url), _nobody_asks)


def reach(target: Target) -> Endpoint:
    """The endpoint of a stored target, with its password as in `at_url`."""
    # A URL does not name the mode `preferred`, which then would get a sandbox's default.
    named = target.tls.mode if "mode" in target.tls.model_fields_set else None
    return resolved(EndpointRequest(url=target.url, tls=named, is_settled=True), _nobody_asks)


def _nobody_asks(text: str) -> str:
    raise AssertionError("nothing asked for a password")
