"""The messages of the report in English."""

from __future__ import annotations

from loadstone.report.words.catalogue import Messages

ENGLISH = Messages(
    # The page
    language="en",
    full_stop=".",
    list_comma=", ",
    between_sentences=" ",
    colon=": ",
    title="{name}: what was measured, and what it means",
    skip="Skip to the report",
    switch_theme="Dark or light",
    contents="Contents",
    no_charts=(
        "The charts could not be drawn: they need a browser with JavaScript and"
        " DecompressionStream (all of them since 2023). The tables hold the same figures."
    ),
    zoom_keys="Arrow keys move, plus and minus zoom, 0 shows all.",
    notes="Notes",
    what="what",
    value="value",
    state="state",
    figure="figure",
    rule="rule",
    yes="yes",
    no="no",
    # Counted things
    one_user="1 user",
    many_users="{number} users",
    one_step="1 step",
    many_steps="{number} steps",
    one_cell="1 cell",
    many_cells="{number} cells",
    one_variant="1 variant",
    many_variants="{number} variants",
    one_event="1 event",
    many_events="{number} events",
    one_core="1 core",
    many_cores="{number} cores",
    one_cause="1 cause",
    many_causes="{number} causes",
    # Names of figures
    tps="TPS",
    qps="QPS",
    p50_ms="p50, ms",
    p95="p95",
    p99="p99",
    p95_ms="p95, ms",
    p99_ms="p99, ms",
    max_ms="max, ms",
    mean_ms="mean, ms",
    p90_ms="p90, ms",
    mean="mean",
    events="events",
    events_per_s="events/s",
    statements_per_s="statements/s",
    latency_ms="latency, ms",
    users_axis="users",
    due_per_s="due/s",
    errors="errors",
    errors_per_s="errors/s",
    errors_each_second="errors each second",
    reconnects="reconnects",
    connect_failures="failed connects",
    skipped="skipped",
    in_flight="events under way",
    events_open="users at work",
    response="response time",
    service="service time",
    interval_95="95 % interval",
    plus_minus=" ± {half} (95 %)",
    used="used",
    difference="difference",
    # The answer
    answer="The answer",
    answer_peak="The peak is {tps} tps{interval} at {users}{beyond}.",
    one_level="{tps} tps{interval} at {users}, the only level that was tried.",
    clause_untried=", the highest level that was tried: the true peak may lie above",
    clause_level="; near it the rate is level",
    clause_falls="; with {users} it falls to {tps}",
    clause_unknown="; what more users bring is not known",
    held_back="What holds it back: {cause} ({confidence} sure).",
    held_back_ceiling=(
        "What holds it back: {cause} ({confidence} sure); the lowest ceiling is {resource},"
        " used to {used}."
    ),
    lowest_ceiling="The lowest ceiling is {resource}, used to {used}.",
    in_doubt="The figures are in doubt: {cause} ({confidence} sure).",
    no_rate="No step has a rate that may be quoted.",
    watched="Watched for {duration}, without load of ours.",
    at_peak="At {users}",
    more_ladders="{number} more",
    experiment_answer="{cells} with {variants} were compared.",
    verdict_count="{word}: {number} ({variants}).",
    not_finished={
        "stopped": "The run was stopped before its end.",
        "failed": "The run failed before its end.",
        "interrupted": "The run was interrupted (crash, power cut); this is what there is of it.",
        "running": "The run is still going on.",
    },
    # The ladder
    members_title="Each workload of the mix",
    member_has="has",
    member_weight="weight {weight}",
    phases_title="Phase by phase",
    phase="phase",
    phase_load="load",
    phase_users="{users} users",
    connects_title="Connections opened anew, and how long opening one took",
    connects_per_s="connects, /s",
    connects_row="opening a connection",
    tpmc="TPC-C-like, not audited: {tpmc} New-Orders a minute (tpmC) at {users}",
    transactions_title="The transactions of the step of {users}",
    transaction="transaction",
    share_head="share, %",
    ladder="The ladder",
    ladder_about=(
        "Rates and latencies over virtual users. Whiskers: 95 % interval of the rate,"
        " lowest to highest repeat of the latencies. Dashed: the Universal Scalability Law,"
        " where it fits."
    ),
    usl="USL fit",
    variants="Variants",
    variants_title="{workload}: all variants",
    variants_about="Rates and 99th percentiles of all variants over virtual users, a line each.",
    table_of_figures="The figures as a table",
    client_and_server="The client's count beside the server's own",
    server_not_observed="The server's counters were not read: not evaluated.",
    counts_agree="Client and server agree to within 5 %.",
    counts_disagree=(
        "{users}: client and server disagree by {share}: the client counts {client} {what},"
        " the server {server} {counter}/s. Other sessions, an event that is no transaction,"
        " or a proxy that counts otherwise may be why."
    ),
    server_gone=(
        "{users}: the server's counters could be read in {seen} of the window's {window} s: its"
        " rates are of these seconds, the client's of all, and the two are not compared."
    ),
    peak="Peak: {tps} tps at {users}.",
    peak_and_knee="Peak: {tps} tps at {users}; {knee} reach {share} of it already.",
    beyond_untried="It is the highest level: the true peak may lie above.",
    beyond_level="Near it the rate is level: differences of less than the noise are not a peak.",
    beyond_falls="With {users} it falls to {tps}.",
    beyond_unknown="What more users bring is not known: the levels above gave no rate to quote.",
    kept_up="Kept up with {rate} events/s.",
    kept_up_with_none="Kept up with no rate that was tried.",
    highest_rate_tried="It is the highest that was tried: more may be possible.",
    lost_rate="Of {asked} events/s it did {done} a second: {waiting} waited at the end.",
    lost_rate_skipped=(
        "Of {asked} events/s it did {done} a second: {waiting} waited at the end, {skipped}"
        " were skipped."
    ),
    law_refused="Universal Scalability Law not fitted: {reason}.",
    law_without_peak=(
        "Universal Scalability Law: contention {contention}, coherency {coherency}; no peak"
        " within reach: {reason}."
    ),
    law_peak=(
        "Universal Scalability Law: contention {contention}, coherency {coherency}; peak of"
        " {rate} events/s ({low} to {high}, {confidence}) at {users} users."
    ),
    star="* stands in no mean: did not end well, never settled, users cut off, or held back",
    exclamation="! client-bound: the generator was, or may have been, the limit",
    of_repeats=(
        "TPS is the mean of the repeats with Student's t interval; the rest is the middle one"
    ),
    # Searches
    search_users=(
        "Smallest concurrency at the peak: {users}, within a twentieth of {tps} tps ({sure})."
    ),
    search_incomplete="The search was not carried out to its end.",
    search_sure="{good} of {steps}, {confidence} sure",
    objective_never="{objective} did not hold, and no lower rate was tried.",
    objective_lost=(
        "{objective} did not hold at {rate} events/s ({sure}), and no lower rate was tried."
    ),
    objective_held="{objective} holds up to {rate} events/s ({sure})",
    objective_beyond="; at {rate} it does not ({sure})",
    objective_closed=". In a closed loop the same users do {tps} tps",
    # Ceilings
    ceilings="The ceilings",
    ceilings_about=(
        "Events a second that each resource would allow at the step's own cost per event."
        " The measured rate lies under the ceilings; the lowest of them holds it back."
    ),
    measured="measured",
    held_by="held by {resource}, used to {used}",
    nearest_ceiling="no ceiling explains it; the nearest, {resource}, is used to {used}",
    no_ceiling="no ceiling could be evaluated",
    resource_head="resource",
    reckoned_from="from",
    resource_not_evaluated="{resource}: {why}",
    not_evaluated="Not evaluated: {number}",
    resources={
        "server CPU": "server CPU",
        "hottest core": "hottest core",
        "flushes": "flushes",
        "disk writes": "disk writes",
        "disk reads": "disk reads",
        "disk write bandwidth": "disk write bandwidth",
        "network to the server": "network to the server",
        "network from the server": "network from the server",
        "row locks": "row locks",
        "generator": "generator",
        "concurrency": "concurrency",
    },
    # Findings
    findings="Findings",
    nothing_to_explain="No step has figures to explain.",
    explains="explains {share}",
    sure="{confidence} sure",
    remedy="Remedy:",
    proof="Proof:",
    to_prove="To prove it:",
    evidence="Evidence",
    evidence_about=(
        "The figure that the finding {cause} rests on, over virtual users; diamonds are the"
        " steps that show it."
    ),
    counter="counter",
    value_with_unit="{value} {unit}",
    threshold="threshold",
    for_want_of="for want of {needs}: {causes}",
    trial_as_prepared="run again without --text",
    trial_by_socket="run again over the unix socket",
    trial_with_option="run again with --{option} {value}",
    trial_set_global="SET GLOBAL {settings}, and run again",
    trial_at_start="start the server with {settings}, and run again",
    trial_with_users="run again with --concurrency {users}",
    trial_again="run again: what the load reads is in the buffer pool by now",
    proof_told="{verdict}: {sentence} ({day})",
    proof_verdicts={
        "proven": "proven",
        "refuted": "refuted",
        "not enough evidence": "not enough evidence",
    },
    groups={
        "validity": "whether the figures may be quoted",
        "ceiling": "used up",
        "wait": "waited for",
        "setting": "a setting",
        "note": "worth knowing, no fault",
    },
    causes={
        "instrumentation": "performance_schema's instruments",
        "other-clients": "other clients of the server",
        "packet-loss": "packets are lost on the way",
        "query-cache": "the query cache",
        "not-observed": "the server or its host was not observed",
        "unexplained": "nothing that has a name yet",
        "few-users": "too few users: nothing is used up",
        "rate-met": "nothing: it keeps up with the rate asked for",
        "client-bound": "the load generator itself",
        "errors": "errors",
        "connections-refused": "connections are refused",
        "connections-lost": "connections are lost",
        "semi-sync-fallback": "semi-synchronous replication fell back to asynchronous",
        "noisy-neighbour": "other programs on the host",
        "steal": "CPU time goes to other virtual machines",
        "cold-buffer-pool": "the buffer pool is still warming up",
        "server-paused": "somebody stops the server's process",
        "cpu-throttled": "a control group throttles the CPU",
        "cpu-pinned": "the process may use few cores only",
        "cpu-bound": "the CPU is used up",
        "one-hot-core": "one core is full",
        "line-full": "the network is full",
        "disk-cap": "the disk is at its limit",
        "swapping": "memory is swapped to disk",
        "table-locks": "table and metadata locks",
        "row-locks": "row locks (hot rows)",
        "deadlocks": "deadlocks",
        "semi-sync-wait": "waiting for the replica (semi-synchronous)",
        "commit-flush": "commits wait for the log to be flushed",
        "working-set": "the working set does not fit the buffer pool",
        "redo-log-small": "the redo log is too small",
        "log-buffer-small": "the log buffer is too small",
        "purge-lag": "purge that does not keep up",
        "long-transaction": "a long transaction",
        "missing-index": "a missing index",
        "deadlock-checks": "deadlock checks on a hot row",
        "no-thread-pool": "many connections without a thread pool",
        "thread-pool-small": "the thread pool is too small",
        "thread-concurrency-low": "innodb_thread_concurrency is too low",
        "connection-storm": "connections are opened all the time",
        "table-cache-small": "the table cache is too small",
        "io-capacity-low": "innodb_io_capacity is too low",
        "binlog-rotation": "the binary log is rotated often",
        "binlog-cache-small": "the binary log's cache is too small",
        "sort-buffer-cliff": "sort_buffer_size is mapped anew for each sort",
        "sort-buffer-small": "sort_buffer_size is too small",
        "temporary-tables-on-disk": "temporary tables on disk",
        "general-log": "the general log is on",
        "slow-log": "the slow log takes nearly everything",
        "audit-log": "the audit log is on",
        "commit-delay": "commits are made to wait",
        "disk-neighbour": "others use the server's disk",
        "purge-delay": "changes are held back for purge",
        "stored-programs": "triggers, routines or events",
        "tables-flushed": "tables are closed again and again",
        "tls": "encryption",
        "latency-bound": "the way between client and server",
        "far-away": "client and server are far apart",
        "group-commit": "group commit: fewer, larger flushes",
    },
    # A diagnosis in the terminal
    line_finding="{name} ({facts})",
    line_remedy="remedy: {remedy}",
    line_to_prove="to prove: {trial}",
    line_not_judged="judged by the first of {targets} targets alone; not: {others}",
    line_proof="proof {cause}: {proof}",
    line_not_tried="not tried  {cause}: {why}",
    line_not_evaluated="not evaluated, for want of {needs}: {causes}",
    line_more_not_evaluated="not evaluated: {causes} more (--json lists them)",
    line_why="why   {answer}",
    line_threshold=" (threshold {value})",
    line_seconds=", {begin} to {end} s",
    group_names={
        "validity": "validity",
        "ceiling": "ceiling",
        "wait": "wait",
        "setting": "setting",
        "note": "note",
    },
    # Steps
    steps_title="Step by step",
    steps_head="steps",
    steps_about=(
        "Each step second by second: load, server and host on one time axis. Zoom with the"
        " slider, Ctrl and the wheel, or the keys; the heat map follows."
    ),
    steps_left_out="{number} further steps are not drawn; their seconds are in the run's folder.",
    step_number="step {number}",
    repeat_number="repeat {number}",
    due_rate="{rate} events/s due",
    seconds="Second by second",
    seconds_about=(
        "Load, server and host of the step on one time axis; warm-up is grey, outages are coloured."
    ),
    seconds_axis="seconds since the load began",
    seconds_head="seconds",
    seconds_between="{begin}..{end} s",
    all_seconds="All {seconds} seconds are drawn.",
    thinned=(
        "{seconds} seconds are drawn as {columns} columns, each with the lowest and the"
        " highest of its {each} seconds."
    ),
    no_seconds="Nothing was recorded second by second.",
    table_of_seconds="The same as a table of means",
    table_of_percentiles="Percentiles as a table",
    table_of_generators="The machines that drove it (! saturated)",
    generators_heads={
        "generator": "generator",
        "users": "users",
        "events": "events",
        "cpu": "CPU",
        "late": "late µs, p99",
        "host_cpu": "host CPU",
        "bytes_in": "MB/s in",
        "bytes_out": "MB/s out",
        "line": "of its line",
        "clock": "clock off by µs",
        "lost": "seconds lost",
    },
    warmup="warm-up",
    outage="outage",
    connections="connections",
    threads_running="running",
    row_lock_waiting="waiting for a row",
    commits_and_syncs="commits and syncs a second",
    com_commit="Com_commit",
    log_syncs="redo log syncs",
    binlog_syncs="binlog syncs",
    cpu_percent="CPU, % of all cores",
    cpu_user="user",
    cpu_sys="system",
    cpu_iowait="waiting for disk",
    disk_per_s="disk {disk}, operations/s",
    disk_writes="writes",
    disk_reads="reads",
    net_mb_per_s="network {nic}, MB/s",
    net_in="in",
    net_out="out",
    heat="Latency over time",
    heat_about=(
        "How many events took how long, by time; yellow is many, dark blue is few (logarithmic)."
    ),
    many="many",
    few="few",
    magnitude="log10 of events",
    percentiles="Percentiles",
    percentiles_about=(
        "How long the slowest share of events takes at least: each further nine has the"
        " same room (HdrHistogram)."
    ),
    share_of_events="share of events that took no longer",
    failed_with="failed with {code}",
    states={
        "finished": "finished",
        "stopped": "stopped",
        "failed": "failed",
        "interrupted": "interrupted",
    },
    classes={
        "read": "read",
        "write": "write",
        "other": "other",
    },
    # Notes of steps
    note_cores=(
        "others had the generator's cores for up to {share} of the time ({step}): that is"
        " part of the latencies"
    ),
    note_above_range=(
        "{number} response times were above the range of one hour; the longest took {duration}"
    ),
    note_encrypted="only {number} of {users} connections are encrypted",
    note_compressed="only {number} of {users} connections are compressed",
    note_client_bound="client-bound: {why}",
    note_bound_by_cpu=(
        "the generator used {share} of {cores}; the rate is a floor, not the server's limit"
    ),
    note_bound_by_ceiling=(
        "the generator was at {share} of what it could do at most on {cores} ({rate}"
        " statements a second); the rate is a floor, not the server's limit"
    ),
    note_bound_by_generator=(
        "generator {number} on {node} was saturated; the rate is a floor, not the server's limit"
    ),
    note_bound_by_lateness=(
        "the generator itself began events up to {late} ms late (p99){part}; the tail of"
        " the response times is partly its own"
    ),
    note_part_of_p99=", {share} of the p99 shown",
    note_connects=(
        "events wait for their new connection: response times contain the connecting, service times"
        " do not"
    ),
    note_idle="{open} of {asked} idle connections were held beside the users",
    note_idle_lost=(
        "{lost} idle connections were ended by the server or the network, and {opened} opened again"
    ),
    note_held=(
        "answers waited up to {held} µs (p99) until the generator looked at them, which is"
        " {share} of the p99 shown"
    ),
    note_late=(
        "the client was late by more than 1 ms for {share} of events (p99 {p99} µs);"
        " latencies from the due time include that"
    ),
    note_waiting="{events} still waited when the window ended: the queue grew",
    note_skipped="{events} found the backlog full and were skipped",
    note_failed="failed: {message}",
    note_unknown_reason="for an unknown reason",
    note_stopped="stopped on request after {duration} of the window",
    note_interrupted="not finished; the figures are of the {duration} there are",
    note_unsettled="never settled: its rate stands in no mean; try a longer --duration",
    note_settling_unknown="whether it settled was not evaluated: {method}",
    note_outage="outage from {begin} s to {end}, {users}: {reason}",
    note_nobody_served="from {begin} s on nobody was served for {milliseconds} ms",
    note_slowest_user="in the outage from {begin} s on the slowest user waited {milliseconds} ms",
    note_ledger="ledger at {target}: of {acknowledged} acknowledged entries {lost} lost, {doubled} "
    "doubled; of those in doubt {present} there, {absent} not",
    note_steps_end="the step's end",
    note_second="{second} s",
    note_errors="errors: {errors}",
    note_begun_anew="; {events} begun anew",
    note_given_up="; {events} given up",
    note_errors_outside="errors before and after the window: {errors}",
    note_first_error="the first error {number}: {message}",
    note_at_statement=", at {statement}",
    note_connect_failures="connection attempts that failed: {errors}",
    note_not_evaluated="{name} not evaluated: {why}",
    note_observing=(
        "observing took {own} % of a core here, and the slowest source {answering} % of the"
        " time to answer"
    ),
    error_meanings={
        "110": "timed out",
        "1020": "record has changed",
        "1040": "too many connections",
        "1045": "login refused",
        "1062": "duplicate key",
        "1146": "no such table",
        "1205": "lock wait timeout",
        "1213": "deadlock",
        "1461": "too many prepared statements",
        "2001": "no file descriptor left",
        "2002": "cannot connect",
        "2003": "cannot connect",
        "2004": "no file descriptor left",
        "2005": "unknown host",
        "2006": "connection lost",
        "2013": "connection lost",
        "2026": "TLS",
        "3024": "statement took too long",
    },
    # Experiments
    matrix="What differs: the matrix",
    matrix_about=(
        "TPS of each variant in each cell, with the verdict against the first level of its"
        " factor, the effect and its interval."
    ),
    matrix_of_searches=(
        "Events a second that each variant's searches found for each workload, with the verdict"
        " against the first level of its factor, the effect and its interval."
    ),
    goal_rate="highest rate with {objective}",
    goal_peak="peak",
    searches_head="searches",
    found_head="found /s",
    searches_missed=("{variant}: {number} of {searches} searches found no rate with {objective}."),
    variants_differ_in="What the variants differ in",
    cell="cell",
    variant="variant",
    factor="factor",
    level="level",
    changes="changes",
    against="{b} against {a}",
    table_of_cells="All figures and verdicts",
    cv_within="CV within",
    cv_between="CV between",
    verdict_line="{against}: {word}; {units} units, {left_out} of them left out.",
    more_repeats="{number} more repeats are needed.",
    corrected_holm=(
        "Verdicts and p-values are corrected for {number} comparisons by Holm's method;"
        " intervals are of one cell."
    ),
    corrected_sequential=(
        "Verdicts hold at all looks together, corrected for {number} comparisons by"
        " Bonferroni's method."
    ),
    verdict_words={
        "faster": "faster",
        "slower": "slower",
        "no difference": "no difference",
        "not enough evidence": "not enough evidence",
    },
    # Settings and environment
    settings="Settings and environment",
    settings_unknown="Not known: it was not asked, or not kept.",
    what_differs="What differs between the targets",
    nothing_differs="No setting that matters differs.",
    review="Review for a benchmark",
    review_nothing="Nothing to say: these settings suit a benchmark.",
    weight="weight",
    variable="variable",
    why="why",
    all_variables="All {number} variables",
    machine="The generator's machine",
    host="host",
    system="system",
    kernel="kernel",
    processor="processor",
    cores="cores",
    governor="CPU governor",
    hypervisor="virtual machine",
    memory="memory",
    huge_pages="huge pages",
    disk_of="disk of {what}",
    whole_environment="All that is known of it",
    weights={
        "unfair": "makes figures unfair",
        "slow": "slow",
        "note": "note",
    },
    # How it was measured
    method="How it was measured",
    run="run",
    when="when",
    target="target",
    encryption="encryption",
    compression="compression",
    workload="workload",
    tables_of="({tables} tables of {rows} rows)",
    window="window of a step",
    automatic="automatic",
    repeats="repeats",
    protocol="statements",
    arrivals="arrivals",
    open_loop="open loop: at a rate",
    closed_loop="closed loop: as fast as answers come",
    seed="seed",
    checklist="The checklist of fair benchmarking",
    checklist_about=(
        'After Raasveldt, Holanda, Gubner and Mühleisen, "Fair Benchmarking Considered'
        " Difficult\" (DBTest 2018), and Loadstone's measuring rules. A missing figure is"
        " never a pass."
    ),
    repeat_it="The command that repeats it",
    command_unknown="Not known: run.json is missing, damaged or of another version.",
    experiment_file_below="The experiment as it was understood stands below, all of its file.",
    whole_plan="The whole plan",
    checked={
        "met": "met",
        "missed": "missed",
        "not evaluated": "not evaluated",
    },
    checklist_items={
        "reproducible": "Plan, seed, version and all of the server's variables are kept",
        "durable": (
            "Commits are durable: log flushed and binary log synced at each commit, doublewrite on"
        ),
        "client-free": "The load generator was not the limit",
        "ceiling-known": "What the generator can do at most on this machine is known",
        "apart": "Generator and server have hosts of their own",
        "warm": "Each step had settled before it counted",
        "long": "Each window is 30 s long or longer",
        "repeated": "Each level was measured three times or more",
        "interleaved": "Variants took turns, so that a drift hits all alike",
        "correct": "At most 1 % errors, and each step came to its end",
        "connected": "No connection was lost or refused",
        "balanced": "The counters add up at every second",
        "observed": "Server and host were observed in each step",
        "undisturbed": "The hypervisor took less than 2 % of the cores",
        "open-loop": (
            "Latency is what users wait whatever the server does (open loop); in a closed loop"
            " a slow server gets less load"
        ),
    },
)
