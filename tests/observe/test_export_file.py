"""Exports of consoles: forms, times, and what is wrong in them."""

from __future__ import annotations

import contextlib
import random
from datetime import UTC, datetime, tzinfo

import pytest

from loadstone.observe.export_file import ExportError, Series, ZoneError, parse, zone
from trust.hostile_runs import changed_bytes
from trust.tally import COUNTS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()


def parsed(text: str, local: tzinfo | None = None) -> dict[str, list[tuple[float, float]]]:
    return {one.name: one.in_order() for one in parse(text.encode(), "iops.csv", local)}


def refused(text: str | bytes, local: tzinfo | None = None) -> str:
    COUNTS["inputs tried"] += 1
    with pytest.raises(ExportError) as error:
        parse(text.encode() if isinstance(text, str) else text, "iops.csv", local)
    said = str(error.value.message)
    assert said.startswith("iops.csv")
    assert "\n" not in said
    return said


def test_a_row_for_each_value_and_a_column_for_each_metric_are_the_same() -> None:
    wide = "time,reads,writes\n2026-01-31T12:00:00Z,5,100\n2026-01-31T12:01:00Z,6,120\n"
    long = (
        "Timestamp,Metric,Value\n2026-01-31T12:01:00Z,writes,120\n2026-01-31T12:00:00Z,reads,5\n"
        "2026-01-31T12:00:00Z,writes,100\n2026-01-31T12:01:00Z,reads,6\n"
    )
    expected = {"reads": [(NOON, 5), (NOON + 60, 6)], "writes": [(NOON, 100), (NOON + 60, 120)]}
    assert parsed(wide) == parsed(long) == expected


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-31T12:00:00Z", "2026-01-31 12:00:00 UTC", "2026-01-31T13:00+01:00",
        "2026-01-31 07:00:00 -05:00", "2026/1/31 12:00:00 Z", "1769860800", "1769860800000",
        "1769860800.0", "20260131T120000Z",
    ],
)  # fmt: skip
def test_times_that_say_their_zone(written: str) -> None:
    assert parsed(f"time,w\n{written},1\n") == {"w": [(NOON, 1)]}


def test_times_without_a_zone_need_one() -> None:
    text = "time;w\n2026-01-31 13:00:00;1\n"
    assert refused(text) == (
        "iops.csv, line 2: '2026-01-31 13:00:00' has no offset from UTC: say with --timezone which "
        "zone it is in"
    )
    assert parsed(text, zone("Europe/Berlin")) == parsed(text, zone("+01:00")) == {"w": [(NOON, 1)]}
    assert parsed("time (UTC),w\n2026-01-31 12:00:00,1\n") == {"w": [(NOON, 1)]}


@pytest.mark.parametrize("written", ["2026-10-25 02:30:00", "2026-03-29 02:30:00"])
def test_an_hour_that_is_there_twice_or_never_is_not_guessed(written: str) -> None:
    said = refused(f"time,w\n{written},1\n", zone("Europe/Berlin"))
    assert "is there twice or never in that zone" in said


@pytest.mark.parametrize("text", ["Mars/Base", "", "+99:00", "../../etc/passwd", "+1"])
def test_there_are_not_all_zones(text: str) -> None:
    with pytest.raises(ZoneError, match="there is no time zone"):
        zone(text)


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (("2.9 K", "900", "1.20 Mil"), (2900, 900, 1.2e6), ""),
        (("1.1K ops/s", "12 iops", "0"), (1100, 12, 0), ""),
        (("1.5 MB/s", "900 B/s", "2 KiB/s"), (1.5e6, 900, 2048), "bytes"),
        (("8 kbit/s", "2 Mbps", "0"), (8000, 2e6, 0), "bits"),
        (("45%", "3.5 %", "0"), (45, 3.5, 0), "%"),
        (("250 µs", "3 ms", "1 s"), (0.00025, 0.003, 1), "s"),
    ],
)
def test_values_with_units_are_what_they_count(
    cells: tuple[str, ...], values: tuple[float, ...], unit: str
) -> None:
    rows = "".join(f"{1769860800 + at * 60},{cell}\n" for at, cell in enumerate(cells))
    (series,) = parse(f"time,w\n{rows}".encode(), "iops.csv")
    assert list(series.values.values()) == pytest.approx(values)
    assert series.unit == unit


def test_a_column_may_name_the_unit() -> None:
    text = "Timestamp,Average,Unit\n1769860800,2,Kilobytes/Second\n1769860860,3,None\n"
    assert "different units" in refused(text)
    (series,) = parse(text.partition("1769860860")[0].encode(), "iops.csv")
    assert (series.name, series.unit, series.in_order()) == ("Average", "bytes", [(NOON, 2000)])


def test_lines_before_the_columns_are_passed_over_and_counted() -> None:
    before = "sep=,\nServer: db1; writes\n\n"
    assert parsed(f"{before}Time,w\n1769860800,7\n") == {"w": [(NOON, 7)]}
    assert parsed(f"{before}Time;w\n1769860800;7\n") == {"w": [(NOON, 7)]}
    said = refused(f"{before}Time,w\n1769860800,many\n")
    assert said == "iops.csv, line 5: 'many' is not a number such as 1234.5 or 1.2 MB/s"
    assert "line 1: the first line has no column 'time'" in refused("a\n" * 60 + "time,w\n1,1\n")


def test_an_average_is_the_value_whatever_stands_before_it() -> None:
    text = "time,metric,Maximum,Average\n1769860800,w,9,7\n"
    assert parsed(text) == {"w": [(NOON, 7)]}


@pytest.mark.parametrize("more", ["", "SampleCount,", "Sum,"])
def test_an_extreme_is_named_as_one(more: str) -> None:
    """It is no mean, so it does not become the figure that the metric's name is."""
    value = more and "60,"
    text = f"time,metric,{more}Maximum\n1769860800,WriteIOPS,{value}9\n"
    assert parsed(text) == {"WriteIOPS (Maximum)": [(NOON, 9)]}


@pytest.mark.parametrize("columns", ["SampleCount", "Sum", "Minimum, Maximum"])
def test_statistics_without_an_average_are_refused(columns: str) -> None:
    heads = columns.replace(", ", ",")
    text = f"time,metric,{heads}\n1769860800,w{',60' * len(heads.split(','))}\n"
    assert refused(text) == f"iops.csv, line 1: of {columns} none is an average: export that"


def test_cells_without_a_value_are_counted_and_no_zeros() -> None:
    text = (
        "\ufefftime\twrites\n2026-01-31T12:00:00Z\t\n2026-01-31T12:01:00Z\tNaN\n1769860800\t7\n\n"
    )
    (series,) = parse(text.encode(), "iops.csv")
    assert series == Series("writes", {NOON: 7.0}, missing=2)


def test_a_spreadsheets_unicode_is_read() -> None:
    (series,) = parse("time,Schreibzugriffe/s\n1769860800,7\n".encode("utf-16"), "iops.csv")
    assert series.name == "Schreibzugriffe/s"


def test_the_same_value_twice_is_one_and_another_one_is_refused() -> None:
    head = "time,metric,value\n1769860800,w,7\n"
    assert parsed(head + "1769860800,w,7.0\n") == {"w": [(NOON, 7)]}
    assert refused(head + "1769860800,w,8\n") == (
        "iops.csv, line 3: w has a second value for this time: export one instance and "
        "one statistic"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column 'time'"),
        ("\n\n\n", "has no column 'time'"),
        ("a,b\n1,2\n", "line 1: the first line has no column 'time'"),
        ("time\n1769860800\n", "has no column 'time' next to another"),
        ("time,w,w\n1769860800,1,1\n", "there are two columns 'w'"),
        ("time,w\n", "it has no values"),
        ("time,w\n1769860800,nan\n", "it has no values"),
        ("time,w\nyesterday,1\n", "line 2: 'yesterday' is not a time such as"),
        ("time,w\n31/01/2026 12:00,1\n", "is not a time"),
        ("time,w\n2026-02-30T00:00Z,1\n", "is not a time"),
        ("time,w\n99999999999999999999,1\n", "is not a time"),
        ("time,w\n1769860800,many\n", "line 2: 'many' is not a number"),
        ("time,w\n1769860800,1e400\n", "is not a number"),
        ("time,w\n1769860800,inf\n", "is not a number"),
        ("time,w\n1769860800,1_0\n", "is not a number"),
        ('time,w\n1769860800,"3,000"\n', "is not a number"),
        ("time,w\n1769860800,5 m\n", "is not a number"),
        ('time,w\n1769860800,"' + "1" * 9_000 + ' x\n1"\n', "is not a number"),
        ("time,w\n1769860800,2 Ks\n", "is not a number"),
        ("time,w\n1769860800,1e19 GB\n", "is not a number"),
        ("time,w\n1769860800,5 MB\n1769860860,5%\n", "line 3: w has values of different units"),
        ("time,metric,value\n1769860800,,1\n", "the row names no metric"),
        ("time,a,b\n1769860800,1\n", "fewer cells"),
        ('time,w\n"1769860800,1\n', "it is not CSV"),
        ("time,w\n1769860800,\x00\n", "line 2"),
        ("time,metric,value\n1769860800,\x1b[2J,1\n", "cannot be printed"),
        ("time,w\n" + "1" * 20_000 + ",1\n", "more than 10,000 characters"),
        ("time,w\n" + "1" * 200_000 + ",1\n", "it is not CSV"),
        ("time," + ",".join(map(str, range(300))) + "\n", "more than 200 columns"),
        (b"time,w\n\xff\xfe\n", "not text in UTF-8"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"\x1f\x8b" + bytes(100), "iops.csv"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str | bytes, said: str) -> None:
    assert said in refused(text)


def test_whatever_the_bytes_are_they_are_read_or_refused_in_one_line() -> None:
    rows = "".join(f"2026-01-31 12:{at:02}:00,w{at % 3},{at}.5\n" for at in range(60))
    good, chance = f"time,metric,value\n{rows}".encode(), random.Random(7)
    for _ in range(300):
        COUNTS["inputs tried"] += 1
        with contextlib.suppress(ExportError):
            parse(changed_bytes(good, chance), "iops.csv", UTC)


def test_few_bytes_do_not_become_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loadstone.observe.export_file._MOST_CELLS", 20_000)
    wide = "time," + ",".join(f"m{number}" for number in range(200)) + "\n"
    rows = "".join(f"17698{at:05},{'1,' * 199}1\n" for at in range(101))
    assert refused(wide + rows).endswith("more than 20,000 values")


def test_a_file_of_many_metrics_or_of_many_megabytes_is_refused() -> None:
    rows = "".join(f"1769860800,m{number},1\n" for number in range(201))
    assert "more than 200 metrics" in refused(f"time,metric,value\n{rows}")
    assert refused(bytes((64 << 20) + 1)) == "iops.csv: it is larger than 64 MB"
