"""A cloud exporter's means, attached to a run from Debian's Prometheus."""

from __future__ import annotations

import itertools
import math
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from loadstone.observe.cloud_series import known_series
from loadstone.observe.export_file import ExportError
from loadstone.report.observed import attached_notes
from loadstone.runner.attach import AttachRequest, attach
from observe.other_tools import ended, environment, program, wait_for_port
from ports import free_port
from runs.test_attached import loads, run, said

pytestmark = pytest.mark.server

__all__ = ["run"]  # the fixture

Stored = Callable[..., str]
MEANS = {
    "aws_rds_write_iops_average": 2900.0,
    "aws_rds_cpuutilization_average": 25.0,
    "aws_rds_write_latency_average": 0.004,
}


def wait_until_ready(url: str) -> None:
    """It listens before it has opened its blocks."""
    deadline = time.monotonic() + 60
    while True:
        try:
            urlopen(url).close()
            return
        except HTTPError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.fixture
def stored(run: Path, tmp_path: Path) -> Iterator[Stored]:
    """Starts Prometheus with such series from before the run until after it; returns its URL."""
    with ExitStack() as stack:

        def start(
            means: dict[str, float], every_s: float = 60.0, at_s: float = 0.0, slope: float = 0.0
        ) -> str:
            first, last = loads(run)[0] - 600, loads(run)[-1] + 900
            begin = first // 60 * 60 + at_s
            times = list(itertools.takewhile(lambda at: at < last, itertools.count(begin, every_s)))
            # A name may be followed by a label of its own.
            each = {
                (name.partition(",")[0], "".join(name.partition(",")[1:])): value
                for name, value in means.items()
            }
            text = tmp_path / "means.txt"
            text.write_text(
                "".join(
                    f"# TYPE {name} gauge\n"
                    + "".join(
                        f'{name}{{dbinstance_identifier="{db}",job="rds"{labels}}} '
                        f"{value + slope * (at - begin)} {at:.3f}\n"
                        for db in ("db1", "db2")
                        for at in times
                    )
                    for (name, labels), value in each.items()
                )
                + "# EOF\n"
            )
            data, port = tmp_path / "data", free_port()
            make = ["tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
            subprocess.run([program("promtool"), *make], env=environment(), check=True)
            (tmp_path / "prometheus.yml").write_text("global: {}\n")
            command = [
                program("prometheus"),
                f"--config.file={tmp_path / 'prometheus.yml'}",
                f"--storage.tsdb.path={data}",
                f"--web.listen-address=127.0.0.1:{port}",
            ]
            process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
            stack.enter_context(ended(process))
            wait_for_port(port, process)
            wait_until_ready(f"http://127.0.0.1:{port}/-/ready")
            return f"http://127.0.0.1:{port}?dbinstance_identifier=db1"

        yield start


def test_means_with_the_clouds_times_are_figures_of_the_host(run: Path, stored: Stored) -> None:
    url = stored(MEANS).replace("http://", "http://reader:geheim@")
    result, file = attach(run, AttachRequest(url=url))
    for step in result.steps:
        assert step.host is not None
        assert step.host.disk_write_iops == pytest.approx(2900)
        assert step.host.cpu_idle == pytest.approx(0.75)
        assert step.host.disk_write_await_ms == pytest.approx(4)
        assert set(step.host.coarse.values()) == {60.0}
        assert step.attached[0].values == 4  # of five minutes: the first and the last are cut
    assert file is not None
    assert "geheim" not in file.file
    said(attached_notes(result.steps))


def test_times_of_scrapes_are_no_times_of_means(run: Path, stored: Stored) -> None:
    """Each mean is scraped four times, from 77 s after the minute that it stands for on."""
    url = stored({"aws_rds_write_iops_average": 2900.0}, every_s=15.0, at_s=17.0)
    with pytest.raises(ExportError, match="have the times of scrapes"):
        attach(run, AttachRequest(url=url))
    result, _ = attach(run, AttachRequest(url=url, late_s=77.0))
    (found,) = result.steps[0].attached
    assert (found.granularity_s, found.values) == (60.0, 4)
    assert found.mean == pytest.approx(2900)


def test_what_is_not_one_databases_is_refused(run: Path, stored: Stored, tmp_path: Path) -> None:
    url = stored({"aliyun_rds_cpu": 0.25, "aws_rds_write_iops_average": 1.0})
    with pytest.raises(ExportError, match=r"no series .* dbinstance_identifier=\"db3\""):
        attach(run, AttachRequest(url=url.replace("db1", "db3")))
    with pytest.raises(ExportError, match="several series aws_rds_write_iops_average: add a label"):
        attach(run, AttachRequest(url=url.replace("dbinstance_identifier=db1", "job=rds")))
    more = tmp_path / "more.toml"
    more.write_text('[aliyun_rds_cpu]\nfigure = "cpu_percent"\nfactor = 100\nseconds = 60\n')
    result, _ = attach(run, AttachRequest(url=url, series=more))
    assert result.steps[0].host is not None
    assert result.steps[0].host.cpu_idle == pytest.approx(0.75)


def test_gauges_of_rds_exporter_are_those_of_the_volume_with_the_data(
    run: Path, stored: Stored
) -> None:
    url = stored(
        {
            "rdsosmetrics_cpuUtilization_total": 60.0,
            'rdsosmetrics_diskIO_writeIOsPS,device="filesystem"': 7.0,
            'rdsosmetrics_diskIO_writeIOsPS,device="rdsdev"': 2800.0,
            'rdsosmetrics_diskIO_writeKbPS,device="rdsdev"': 3.0,
            "aws_rds_cpuutilization_average": 25.0,
        }
    )
    result, file = attach(run, AttachRequest(url=url))
    assert file is not None
    host = result.steps[0].host
    assert host is not None
    assert host.disk_write_iops == pytest.approx(2800)
    assert host.disk_write_bytes_per_s == pytest.approx(3 * 1024)
    assert host.cpu_idle == pytest.approx(0.75)  # CloudWatch's, which stands above
    assert set(host.coarse.values()) == {60.0}


def test_what_changes_each_ten_seconds_is_no_mean_of_a_minute(
    run: Path, stored: Stored, tmp_path: Path
) -> None:
    name = "rdsosmetrics_cpuUtilization_total"
    url = stored({name: 25.0}, every_s=10.0, slope=0.001)
    with pytest.raises(ExportError, match=f"{name} changes more often than once in 60 s"):
        attach(run, AttachRequest(url=url, late_s=0.0))
    more = tmp_path / "more.toml"
    more.write_text(f'[{name}]\nfigure = "cpu_percent"\nseconds = 10\n')
    result, _ = attach(run, AttachRequest(url=url, series=more))
    assert result.steps[0].host is not None
    assert result.steps[0].host.coarse == {"cpu_idle": 10.0}


def test_a_sum_of_a_minute_is_a_rate(run: Path, stored: Stored) -> None:
    name = "azure_microsoft_dbformysql_flexibleservers_storage_io_count_total_count"
    result, _ = attach(run, AttachRequest(url=stored({name: 90_000.0})))
    (figure,) = result.steps[0].attached
    assert figure.figure == "disk_iops"
    assert known_series()[name].factor * 90_000 == pytest.approx(1500)


def test_a_cloud_without_a_value_has_none(run: Path, stored: Stored) -> None:
    """YACE has NaN then."""
    url = stored({"aws_rds_write_iops_average": math.nan, "aws_rds_read_iops_average": 7.0})
    result, file = attach(run, AttachRequest(url=url))
    assert file is not None
    assert [one.name for one in file.metrics] == ["aws_rds_read_iops_average"]
    assert result.steps[0].host is not None
    assert result.steps[0].host.disk_write_iops is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[cpu]\nseconds = 60\n", "more.toml: cpu.figure: Field required"),
        ('[cpu]\nfigure = "cpu_procent"\nseconds = 60\n', "did you mean cpu_percent?"),
        ('[cpu]\nfigure = "cpu_percent"\nseconds = 0\n', "more.toml: cpu.seconds: "),
        ("[cpu\n", "more.toml: "),
        (
            '[cpu]\nfigure = "cpu_percent"\nseconds = 60\nlabels = { device = "(" }\n',
            "more.toml: cpu.labels.device: '(' is no regular expression",
        ),
        ("cpu = 1\n", "more.toml: cpu: "),
        ('["a.b"]\nfigure = "cpu_percent"\nseconds = 60\n', "'a.b' is no name of a series"),
    ],
)
def test_what_is_no_entry_is_named(text: str, why: str, tmp_path: Path) -> None:
    more = tmp_path / "more.toml"
    more.write_text(text)
    with pytest.raises(ExportError) as refused:
        known_series(more)
    assert why in str(refused.value)
