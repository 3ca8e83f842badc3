"""Which fields of a run's documents stay, and what the others become.

Only what is listed here stays: a text in any other field becomes a pseudonym, so a field that a
later version adds is hidden until somebody lists it.
"""

from __future__ import annotations

import re

STAYS = frozenset(
    # What kind of thing it is, and how it was driven.
    "kind state mode method protocol family on_error isolation charset phase relation figure gaps "
    "what restore role verdict group acts_on cause unit counter profile engine loadstone on_step "
    # Versions, ciphers and times.
    "version server_version server_versions flavour comment tls tls_version compression "
    "channel_binding "
    "at started_at ended_at "
    # Of machines: their kind and their speed.
    "model mhz governor machine libc python huge_pages release id_of_os file_system scheduler "
    "rotational write_cache mtu speed_mbit disk nic traffic_nic data_disk deltas gauges storage "
    "event condition factor factors levels variant variants level place known view "
    "allocator cgroup_cores cgroup_io cgroup_memory clocksource cores cores_allowed cpu "
    "huge_pages_defrag huge_pages_reserved hypervisor io_scheduler kernel memory mitigations "
    "mount_options nic_speed os swap swappiness not_default".split()
)
"""Texts that stay, unless they have a path, an address or an identifier in them."""

KINDS = {
    "host": "host", "node": "host", "hostname": "host", "gateway": "host", "hosts": "host",
    "source": "host", "user": "user", "database": "schema", "schema_name": "schema",
    "socket": "path", "path": "path", "file": "file", "device": "device", "mount": "path",
    "datadir": "path", "table": "table", "statement": "statement", "fingerprint": "fingerprint",
}  # fmt: skip
"""What the text of a field is called, if it is not simply `text`."""

DROPPED = frozenset(("command_line", "init_sql", "general", "arguments", "ciphers"))
"""Lists of texts that nothing else refers to."""

MAPS = frozenset(("variables", "settings", "startup", "dynamic", "per_session"))
"""Variables of a server by name."""

VARIABLE_NAMES = re.compile(
    r"host|user|dir|path|file|basename|relay_log|index|socket|ssl|uuid|uid|server_id|gtid|report_|init_|"
    r"wsrep|password|secret|address|proxy|plugin|license|group_name|seeds|key|cert|allowlist|"
    r"whitelist|admin|domain|tmp|log_error|command|redirect|url|uri|"
    r"conninfo|cluster_name|standby_names|slot_name|application_name|tablespace"
)
"""Of variables with such a name only numbers and switches stay."""

IDENTIFIERS = re.compile(r"server_id|server_uu?id|\buuid|system_identifier")
"""Variables that identify a server, even by a number."""

ENUMERATED = frozenset(
    "none NONE auto AUTO table TABLE FILE file strict STRICT binary bytes gamma GPL TOI rsync row "
    "NEWFILE disabled enabled DISABLED ENABLED".split()
)
"""Values that many servers have, whatever the variable."""

PARENTS = frozenset(("factors", "levels", "distribution", "os", "abort_if", "max_load"))
"""In these a `name`, an `id` or a `text` is Loadstone's word, a variable, or a factor's level."""
