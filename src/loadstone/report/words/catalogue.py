"""The messages of the report: what a catalogue of a language must hold.

A key is a field, so that a missing or misspelt one is found by the type checker. Placeholders in
braces are filled by their names; each language has the same (a test holds it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loadstone.analyse.meaning import Weight
from loadstone.analyse.verdict import Word
from loadstone.model.ceilings import Resource
from loadstone.model.finding import Group, ProofVerdict
from loadstone.model.numbers import count
from loadstone.model.result import StepState
from loadstone.report.checklist import Item, State


@dataclass(frozen=True)
class Messages:
    """One language."""

    # The page
    language: str
    full_stop: str
    list_comma: str
    between_sentences: str
    colon: str
    title: str
    skip: str
    switch_theme: str
    contents: str
    no_charts: str
    zoom_keys: str
    notes: str
    what: str
    value: str
    state: str
    figure: str
    rule: str
    yes: str
    no: str

    # Counted things
    one_user: str
    many_users: str
    one_step: str
    many_steps: str
    one_cell: str
    many_cells: str
    one_variant: str
    many_variants: str
    one_event: str
    many_events: str
    one_core: str
    many_cores: str
    one_cause: str
    many_causes: str

    # Names of figures
    tps: str
    qps: str
    p50_ms: str
    p95: str
    p99: str
    p95_ms: str
    p99_ms: str
    max_ms: str
    mean_ms: str
    p90_ms: str
    mean: str
    events: str
    events_per_s: str
    statements_per_s: str
    latency_ms: str
    users_axis: str
    due_per_s: str
    errors: str
    errors_per_s: str
    errors_each_second: str
    reconnects: str
    connect_failures: str
    skipped: str
    in_flight: str
    events_open: str
    response: str
    service: str
    interval_95: str
    plus_minus: str
    used: str
    difference: str

    # The answer
    answer: str
    answer_peak: str
    one_level: str
    clause_untried: str
    clause_level: str
    clause_falls: str
    clause_unknown: str
    held_back: str
    held_back_ceiling: str
    lowest_ceiling: str
    in_doubt: str
    no_rate: str
    watched: str
    at_peak: str
    more_ladders: str
    experiment_answer: str
    verdict_count: str
    not_finished: Mapping[str, str]

    # What a step tells apart
    members_title: str
    member_has: str
    member_weight: str
    phases_title: str
    phase: str
    phase_load: str
    phase_users: str
    connects_title: str
    connects_per_s: str
    connects_row: str
    tpmc: str
    transactions_title: str
    transaction: str
    share_head: str

    # The ladder
    ladder: str
    ladder_about: str
    usl: str
    variants: str
    variants_title: str
    variants_about: str
    table_of_figures: str
    client_and_server: str
    server_not_observed: str
    counts_agree: str
    counts_disagree: str
    server_gone: str
    peak: str
    peak_and_knee: str
    beyond_untried: str
    beyond_level: str
    beyond_falls: str
    beyond_unknown: str
    kept_up: str
    kept_up_with_none: str
    highest_rate_tried: str
    lost_rate: str
    lost_rate_skipped: str
    law_refused: str
    law_without_peak: str
    law_peak: str
    star: str
    exclamation: str
    of_repeats: str

    # Searches
    search_users: str
    search_incomplete: str
    search_sure: str
    objective_never: str
    objective_lost: str
    objective_held: str
    objective_beyond: str
    objective_closed: str

    # Ceilings
    ceilings: str
    ceilings_about: str
    measured: str
    held_by: str
    nearest_ceiling: str
    no_ceiling: str
    resource_head: str
    reckoned_from: str
    resource_not_evaluated: str
    not_evaluated: str
    resources: Mapping[Resource, str]

    # Findings
    findings: str
    nothing_to_explain: str
    explains: str
    sure: str
    remedy: str
    proof: str
    to_prove: str
    evidence: str
    evidence_about: str
    counter: str
    value_with_unit: str
    threshold: str
    for_want_of: str
    trial_as_prepared: str
    trial_by_socket: str
    trial_with_option: str
    trial_set_global: str
    trial_at_start: str
    trial_with_users: str
    trial_again: str
    proof_told: str
    proof_verdicts: Mapping[ProofVerdict, str]
    groups: Mapping[Group, str]
    causes: Mapping[str, str]

    # A diagnosis in the terminal
    line_finding: str
    line_remedy: str
    line_to_prove: str
    line_not_judged: str
    line_proof: str
    line_not_tried: str
    line_not_evaluated: str
    line_more_not_evaluated: str
    line_why: str
    line_threshold: str
    line_seconds: str
    group_names: Mapping[Group, str]

    # Steps
    steps_title: str
    steps_head: str
    steps_about: str
    steps_left_out: str
    step_number: str
    repeat_number: str
    due_rate: str
    seconds: str
    seconds_about: str
    seconds_axis: str
    seconds_head: str
    seconds_between: str
    all_seconds: str
    thinned: str
    no_seconds: str
    table_of_seconds: str
    table_of_percentiles: str
    table_of_generators: str
    generators_heads: Mapping[str, str]
    """Of its columns: the machine, then as `report.generators.figures_of` has them."""
    warmup: str
    outage: str
    connections: str
    threads_running: str
    row_lock_waiting: str
    commits_and_syncs: str
    com_commit: str
    log_syncs: str
    binlog_syncs: str
    cpu_percent: str
    cpu_user: str
    cpu_sys: str
    cpu_iowait: str
    disk_per_s: str
    disk_writes: str
    disk_reads: str
    net_mb_per_s: str
    net_in: str
    net_out: str
    heat: str
    heat_about: str
    many: str
    few: str
    magnitude: str
    percentiles: str
    percentiles_about: str
    share_of_events: str
    failed_with: str
    states: Mapping[StepState, str]
    classes: Mapping[str, str]

    # Notes of steps
    note_cores: str
    note_above_range: str
    note_encrypted: str
    note_compressed: str
    note_client_bound: str
    note_bound_by_cpu: str
    note_bound_by_ceiling: str
    note_bound_by_lateness: str
    note_bound_by_generator: str
    note_part_of_p99: str
    note_held: str
    note_connects: str
    note_idle: str
    note_idle_lost: str
    note_late: str
    note_waiting: str
    note_skipped: str
    note_failed: str
    note_unknown_reason: str
    note_stopped: str
    note_interrupted: str
    note_unsettled: str
    note_settling_unknown: str
    note_outage: str
    note_nobody_served: str
    note_slowest_user: str
    note_ledger: str
    note_steps_end: str
    note_second: str
    note_errors: str
    note_begun_anew: str
    note_given_up: str
    note_errors_outside: str
    note_first_error: str
    note_at_statement: str
    note_connect_failures: str
    note_not_evaluated: str
    note_observing: str
    error_meanings: Mapping[str, str]

    # Experiments
    matrix: str
    matrix_about: str
    matrix_of_searches: str
    goal_rate: str
    goal_peak: str
    searches_head: str
    found_head: str
    searches_missed: str
    variants_differ_in: str
    cell: str
    variant: str
    factor: str
    level: str
    changes: str
    against: str
    table_of_cells: str
    cv_within: str
    cv_between: str
    verdict_line: str
    more_repeats: str
    corrected_holm: str
    corrected_sequential: str
    verdict_words: Mapping[Word, str]

    # Settings and environment
    settings: str
    settings_unknown: str
    what_differs: str
    nothing_differs: str
    review: str
    review_nothing: str
    weight: str
    variable: str
    why: str
    all_variables: str
    machine: str
    host: str
    system: str
    kernel: str
    processor: str
    cores: str
    governor: str
    hypervisor: str
    memory: str
    huge_pages: str
    disk_of: str
    whole_environment: str
    weights: Mapping[Weight, str]

    # How it was measured
    method: str
    run: str
    when: str
    target: str
    encryption: str
    compression: str
    workload: str
    tables_of: str
    window: str
    automatic: str
    repeats: str
    protocol: str
    arrivals: str
    open_loop: str
    closed_loop: str
    seed: str
    checklist: str
    checklist_about: str
    repeat_it: str
    command_unknown: str
    experiment_file_below: str
    whole_plan: str
    checked: Mapping[State, str]
    checklist_items: Mapping[Item, str]

    def sentences(self, *said: str) -> str:
        """One after the other."""
        return self.between_sentences.join(each for each in said if each)

    def users(self, number: int) -> str:
        """`64 users`."""
        return _counted(number, self.one_user, self.many_users)

    def steps(self, number: int) -> str:
        """`6 steps`."""
        return _counted(number, self.one_step, self.many_steps)

    def cells(self, number: int) -> str:
        """`4 cells`: workloads at a concurrency and rate."""
        return _counted(number, self.one_cell, self.many_cells)

    def variants_of(self, number: int) -> str:
        """`2 variants`."""
        return _counted(number, self.one_variant, self.many_variants)

    def events_of(self, number: int) -> str:
        """`1,204 events`."""
        return _counted(number, self.one_event, self.many_events)

    def cores_of(self, number: int) -> str:
        """`2 cores`."""
        return _counted(number, self.one_core, self.many_cores)

    def causes_of(self, number: int) -> str:
        """`12 causes`."""
        return _counted(number, self.one_cause, self.many_causes)

    def resource(self, name: str) -> str:
        """A resource that has a ceiling."""
        return {str(key): said for key, said in self.resources.items()}.get(name, name)

    def cause(self, name: str) -> str:
        """A cause of a finding; one that a newer rule has is shown by its name."""
        return self.causes.get(name, name)

    def yes_no(self, *, answer: bool) -> str:
        """A fact that is or is not so."""
        return self.yes if answer else self.no


def _counted(number: int, one: str, many: str) -> str:
    return one if number == 1 else many.format(number=count(number))
