import pytest

from loadstone.model.message import plain
from loadstone.model.target import Target
from loadstone.servers.errors import GuardError
from loadstone.servers.facts import KNOWN_LAYOUTS, TableFacts, mark_for
from loadstone.servers.guard import (
    LIST_TABLE,
    Consent,
    ListedTable,
    SchemaState,
    check_writes,
    decide_cleanup,
    decide_prepare,
    hash_of_columns,
)

SBTEST = (("id", "int"), ("k", "int"), ("c", "char(120)"), ("pad", "char(60)"))
BULK = (("id", "int"), ("k", "int"))
HOT = (("product", "int"), ("stock", "bigint"), ("sold", "bigint"))
OLD_LIST = tuple(
    (name, "int")
    for name in "table_name layout row_count seed created_at state columns_hash".split()
)
LOCAL = Target(host="127.0.0.1", port=3306)
REMOTE = Target(host="db1")
NOBODY_ASKED = Consent(elsewhere=None)
YES = Consent(yes=True)


def table(name: str, columns: tuple[tuple[str, str], ...] = SBTEST) -> TableFacts:
    return TableFacts(name=name, engine="InnoDB", columns=columns)


def listed(name: str, of: TableFacts | None = None, layout: str = "sbtest") -> ListedTable:
    line = ListedTable(name=name, layout=layout, rows=10, seed=1, state="loading")
    if of is None:
        return line
    return line.model_copy(update={"state": "ready", "columns_hash": hash_of_columns(of)})


def schema(*tables: TableFacts, lines: tuple[ListedTable, ...] = ()) -> SchemaState:
    return SchemaState(schema_name="shop", exists=True, tables=tables, listed=lines)


ORDERS = table("orders", (("id", "bigint"), ("total", "decimal(10,2)")))


def test_an_empty_local_schema_needs_no_consent() -> None:
    decision = decide_prepare(schema(), ["sbtest1"], LOCAL, NOBODY_ASKED)
    assert not decision.creates_schema
    assert decision.continues == ()


def test_prepare_makes_a_missing_schema_and_says_so() -> None:
    missing = SchemaState(schema_name="shop", exists=False)
    assert decide_prepare(missing, ["sbtest1"], LOCAL, NOBODY_ASKED).creates_schema


def test_foreign_tables_beside_need_consent() -> None:
    with pytest.raises(GuardError) as caught:
        decide_prepare(schema(ORDERS), ["sbtest1"], LOCAL, NOBODY_ASKED)
    assert caught.value.kind == "foreign_tables"
    assert "orders" in caught.value.message
    assert "--yes" in str(caught.value.hint)
    assert caught.value.exit_code == 7
    decide_prepare(schema(ORDERS), ["sbtest1"], LOCAL, YES)


def test_another_machine_needs_consent_and_a_sandbox_never_does() -> None:
    nobody_knows = Consent()
    tunnel = Consent(elsewhere=plain("where ssh listens, which may lead to another machine"))
    for target, consent in ((REMOTE, nobody_knows), (LOCAL, tunnel)):
        with pytest.raises(GuardError, match=f"{target.place}, wh") as caught:
            decide_prepare(schema(), ["sbtest1"], target, consent)
        assert caught.value.kind == "not_loopback"
    decide_prepare(schema(), ["sbtest1"], REMOTE, YES)
    decide_prepare(schema(ORDERS), ["sbtest1"], LOCAL, Consent(sandbox=True))


@pytest.mark.parametrize("consent", [NOBODY_ASKED, YES, Consent(yes=True, sandbox=True)])
def test_a_foreign_table_of_a_wanted_name_is_never_touched(consent: Consent) -> None:
    somebodys = table("sbtest1", (("id", "int"), ("salary", "int")))
    with pytest.raises(GuardError):
        decide_prepare(schema(somebodys), ["sbtest1"], LOCAL, consent)
    assert decide_cleanup(schema(somebodys), LOCAL, consent).drops == ()


def test_sysbenchs_tables_are_not_taken_up_and_go_where_they_are_meant() -> None:
    theirs = schema(table("sbtest1"), table("sbtest2"))
    with pytest.raises(GuardError, match="sysbench"):
        decide_prepare(theirs, ["sbtest1"], LOCAL, YES)
    decision = decide_cleanup(theirs, LOCAL, NOBODY_ASKED)
    assert (decision.drops, decision.leaves_of_sysbench) == ((), ("sbtest1", "sbtest2"))
    decision = decide_cleanup(theirs, LOCAL, NOBODY_ASKED, of_sysbench=True)
    assert (decision.drops, decision.leaves_of_sysbench) == (("sbtest1", "sbtest2"), ())
    decision = decide_cleanup(theirs, LOCAL, NOBODY_ASKED, ["sbtest2"])
    assert (decision.drops, decision.leaves_of_sysbench) == (("sbtest2",), ("sbtest1",))


@pytest.mark.parametrize(
    "almost",
    [
        table("sbtest", SBTEST),
        table("sbtest01", SBTEST),
        table("sbtest1_old", SBTEST),
        table("sbtest1", (*SBTEST, ("extra", "int"))),
        table("sbtest1", (*SBTEST[:3], ("pad", "char(61)"))),
        table("sbtest1", (SBTEST[1], SBTEST[0], *SBTEST[2:])),
        TableFacts(name="sbtest1", engine=None, columns=SBTEST, is_view=True),
    ],
)
def test_what_is_almost_sysbenchs_is_foreign(almost: TableFacts) -> None:
    decision = decide_cleanup(schema(almost), LOCAL, YES)
    assert decision.drops == ()
    assert decision.leaves == (almost.name,)


def test_unsigned_columns_of_old_sysbench_are_its_layout_too() -> None:
    old = table("sbtest1", (("id", "int unsigned"), ("k", "int unsigned"), *SBTEST[2:]))
    decision = decide_cleanup(schema(old), LOCAL, NOBODY_ASKED)
    assert decision.leaves_of_sysbench == ("sbtest1",)


def test_listed_tables_are_continued_and_dropped_whatever_their_layout() -> None:
    stock = table("hot_stock", (("id", "int"), ("stock", "int")))
    ours = schema(stock, lines=(listed("hot_stock", stock, "hot"),))
    assert decide_prepare(ours, ["hot_stock"], LOCAL, NOBODY_ASKED).continues == (stock,)
    assert decide_cleanup(ours, LOCAL, NOBODY_ASKED).drops == ("hot_stock",)


def test_a_listed_name_with_other_columns_since_is_foreign() -> None:
    was = table("hot_stock", (("id", "int"), ("stock", "int")))
    now = table("hot_stock", (("id", "int"), ("price", "int")))
    state = schema(now, lines=(listed("hot_stock", was, "hot"),))
    decision = decide_cleanup(state, LOCAL, YES)
    assert decision.drops == ()
    assert decision.forgets == ("hot_stock",)


def test_an_unfinished_table_is_ours_only_in_the_layout_it_was_to_get() -> None:
    lines = (listed("sbtest1"),)
    assert schema(table("sbtest1"), lines=lines).of("ours") == ("sbtest1",)
    other = schema(table("sbtest1", (("id", "int"), ("name", "text"))), lines=lines)
    assert other.of("foreign") == ("sbtest1",)


@pytest.mark.parametrize(
    ("layout", "name", "columns"),
    [
        ("hot", "hot_row1", (("product", "int"), ("price", "int"))),
        ("hot", "hot_row1", SBTEST),
        ("hot", "sbtest1", HOT),
        ("bulk", "sbtest1", SBTEST),
        ("unheard_of", "sbtest1", SBTEST),
    ],
)
def test_an_unfinished_line_claims_no_table_of_another_layout(
    layout: str, name: str, columns: tuple[tuple[str, str], ...]
) -> None:
    state = schema(table(name, columns), lines=(listed(name, layout=layout),))
    assert state.of("ours") == ()
    with pytest.raises(GuardError):
        decide_prepare(state, [name], LOCAL, YES)


def test_an_unfinished_table_of_every_layout_is_ours() -> None:
    names = {
        "sbtest": ("sbtest1", SBTEST),
        "hot": ("hot_row1", HOT),
        "products": ("hot_product1", KNOWN_LAYOUTS["products"]),
        "orders": ("hot_order1", KNOWN_LAYOUTS["orders"]),
        "bulk": ("sbtest1", BULK),
        "ledger": ("drill_ledger1", KNOWN_LAYOUTS["ledger"]),
    }
    assert names.keys() == KNOWN_LAYOUTS.keys()
    for layout, (name, columns) in names.items():
        state = schema(table(name, columns), lines=(listed(name, layout=layout),))
        assert state.of("ours") == (name,)


@pytest.mark.parametrize("state_of_line", ["loading", "ready"])
def test_a_table_made_anew_since_is_not_ours(state_of_line: str) -> None:
    was = table("sbtest1").model_copy(update={"created_s": 1000})
    anew = table("sbtest1").model_copy(update={"created_s": 2000})
    line = listed("sbtest1", was).model_copy(update={"state": state_of_line, "made_s": 1000})
    assert schema(was, lines=(line,)).of("ours") == ("sbtest1",)
    assert schema(anew, lines=(line,)).of("ours") == ()
    with pytest.raises(GuardError, match="Loadstone made them, as `sysbench prepare`") as refused:
        decide_prepare(schema(anew, lines=(line,)), ["sbtest1"], LOCAL, YES)
    assert "`sysbench ... cleanup` or `loadstone cleanup --sysbench-tables` drops" in str(
        refused.value.hint
    )


@pytest.mark.parametrize("is_ready", [False, True])
def test_of_a_table_and_its_copy_neither_is_taken_for_ours_unless_times_tell(
    is_ready: bool,
) -> None:
    """CREATE TABLE … LIKE copies the mark; then the copy takes the name."""
    mark = mark_for("orders", "0123456789abcdef")
    ours = ORDERS.model_copy(update={"mark": mark, "created_s": 100})
    line = listed("orders").model_copy(
        update={
            "state": "ready" if is_ready else "loading",
            "columns_hash": hash_of_columns(ours) if is_ready else mark,
            "made_s": 100 if is_ready else None,
        }
    )
    later = ours.model_copy(update={"created_s": 160})
    aside = ours.model_copy(update={"name": "aside"})
    swapped = schema(later, aside, lines=(line,))
    assert swapped.of("ours") == ()
    assert decide_cleanup(swapped, LOCAL, YES).drops == ()
    assert decide_cleanup(swapped, LOCAL, YES).forgets == (("orders",) if is_ready else ())
    backed_up = schema(ours, later.model_copy(update={"name": "backup"}), lines=(line,))
    assert backed_up.of("ours") == (("orders",) if is_ready else ())
    assert decide_cleanup(backed_up, LOCAL, YES).forgets == ()
    same_second = schema(ours, ours.model_copy(update={"name": "backup"}), lines=(line,))
    assert same_second.of("ours") == ()
    assert schema(ours, lines=(line,)).of("ours") == ("orders",)


def test_tables_of_one_load_that_share_a_mark_are_no_copies_of_each_other() -> None:
    """So they were made before each had a mark of its own."""
    mark = "0123456789abcdef"
    tables = [table(name).model_copy(update={"mark": mark}) for name in ("sbtest1", "sbtest2")]
    lines = tuple(listed(each.name, each) for each in tables)
    assert schema(*tables, lines=lines).of("ours") == ("sbtest1", "sbtest2")


def test_a_line_from_before_goes_by_the_columns_alone() -> None:
    made = table("sbtest1").model_copy(update={"created_s": 1000})
    assert schema(made, lines=(listed("sbtest1", made),)).of("ours") == ("sbtest1",)


def test_tables_of_a_template_are_written_to_only_where_they_are_ours() -> None:
    ours = schema(ORDERS, lines=(listed("orders", ORDERS, "template"),))
    check_writes(ours, [ORDERS], "shop.toml", NOBODY_ASKED)
    other = table("orders", (*ORDERS.columns, ("note", "text")))
    for theirs in (schema(ORDERS), schema(other, lines=ours.listed)):
        with pytest.raises(GuardError, match=r"shop\.toml would write to them: orders"):
            check_writes(theirs, theirs.tables, "shop.toml", YES)
    with pytest.raises(GuardError, match=r"shop\.toml writes: orders"):
        check_writes(schema(ORDERS), (), "shop.toml", NOBODY_ASKED)


def test_the_list_itself_is_neither_foreign_nor_dropped_as_a_table() -> None:
    for columns in (OLD_LIST, (*OLD_LIST, ("made_s", "bigint"))):
        state = schema(table(LIST_TABLE, columns))
        assert state.of("foreign") == ()
        assert decide_cleanup(state, REMOTE, NOBODY_ASKED).drops == ()


@pytest.mark.parametrize(
    "theirs",
    [
        table(LIST_TABLE, (("id", "int"), ("what", "text"))),
        TableFacts(name=LIST_TABLE, engine=None, columns=OLD_LIST, is_view=True),
    ],
)
def test_a_list_that_somebody_else_made_is_refused_with_a_hint(theirs: TableFacts) -> None:
    for decide in (
        lambda: decide_prepare(schema(theirs), ["sbtest1"], LOCAL, YES),
        lambda: decide_cleanup(schema(theirs), LOCAL, YES),
    ):
        with pytest.raises(GuardError, match="a table loadstone_tables that is not") as caught:
            decide()
        assert "another schema" in str(caught.value.hint)


def test_cleanup_of_nothing_needs_no_consent_even_elsewhere() -> None:
    decision = decide_cleanup(schema(ORDERS), REMOTE, Consent())
    assert (decision.drops, decision.leaves) == ((), ("orders",))


def test_cleanup_beside_foreign_tables_needs_consent() -> None:
    with pytest.raises(GuardError):
        decide_cleanup(schema(ORDERS, table("sbtest1")), LOCAL, NOBODY_ASKED, of_sysbench=True)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True),
     ("10.0.0.1", False), ("db1", False), ("localhost.org", False), ("127.0.0.1.x", False)],
)  # fmt: skip
def test_only_loopback_and_sockets_are_this_machine(host: str, local: bool) -> None:
    assert Target(host=host).is_local is local
