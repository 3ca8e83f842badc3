"""The manifests and the chart of docs/kubernetes, by the schemas of Kubernetes' own API."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import click
import kubernetes_validate
import pytest
import yaml
from jsonschema import Draft7Validator

from called import called
from house.repository import ROOT
from loadstone import __version__
from loadstone.cli.app import app

FOLDER = ROOT / "docs" / "kubernetes"
CHART = FOLDER / "chart"
OLDEST = "1.25"
LATEST = kubernetes_validate.latest_version()

Document = dict[str, Any]


def documents(text: str) -> list[Document]:
    return [one for one in yaml.safe_load_all(text) if one]


def manifest(name: str) -> list[Document]:
    return documents((FOLDER / name).read_text())


def checked(document: Document) -> None:
    """Raises where the API would not take the document; `strict`: where it knows no such key."""
    for version in (OLDEST, LATEST):
        kubernetes_validate.validate(document, version, strict=True)


def pod_of(document: Document) -> Document:
    pod: Document = document["spec"]
    return pod["template"]["spec"] if document["kind"] == "Job" else pod


@pytest.mark.parametrize("name", ["job.yaml", "reader.yaml"])
def test_kubernetes_takes_the_manifests(name: str) -> None:
    for document in manifest(name):
        checked(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "backoffLimits"), 0),
        (("spec", "backoffLimit"), "none"),
        (("spec", "template", "spec", "restartPolicy"), 1),
        (("spec", "template", "spec", "containers", 0, "arguments"), []),
        (("spec", "template", "spec", "containers", 0, "args"), [1]),
    ],
)
def test_a_wrong_manifest_would_be_seen(path: tuple[str | int, ...], value: Any) -> None:
    document = deepcopy(manifest("job.yaml")[1])
    place: Any = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    with pytest.raises(kubernetes_validate.ValidationError):
        checked(document)


def every_pod() -> Iterator[Document]:
    for name in ("job.yaml", "reader.yaml"):
        yield from (pod_of(one) for one in manifest(name) if one["kind"] in ("Job", "Pod"))


def test_pods_have_no_rights_that_they_do_not_need() -> None:
    for pod in every_pod():
        assert_unprivileged(pod)


def assert_unprivileged(pod: Document) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    uid = re.search(r"--uid (\d+)", (ROOT / "Containerfile").read_text())
    assert uid and pod["securityContext"]["runAsUser"] == int(uid[1])
    assert pod["automountServiceAccountToken"] is False
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
        assert {"/var/lib/loadstone", "/tmp"} <= mounts.keys()
        assert set(mounts.values()) <= {one["name"] for one in pod["volumes"]}


def parse(words: list[str]) -> dict[str, Any]:
    """The options of a command line as the program reads them; it runs nothing."""
    context = click.Context(app, info_name="loadstone")
    command = app.get_command(context, words[0])
    assert command is not None
    return command.make_context(words[0], [*words[1:]], parent=context).params


def words_of(container: Document) -> list[str]:
    values = {one["name"]: one.get("value", "") for one in container["env"]}
    return [re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], one) for one in container["args"]]


def test_images_have_this_version() -> None:
    for pod in every_pod():
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            assert container["image"].endswith(f":{__version__}")


def test_the_program_takes_the_jobs_command_lines() -> None:
    pod = pod_of(manifest("job.yaml")[1])
    (prepare,), (run,) = pod["initContainers"], pod["containers"]
    assert parse(words_of(prepare))["workload"] == "oltp_read_write"
    parse(words_of(run))
    tables = ["--tables", "10", "--table-size", "100k"]
    for container in (prepare, run):
        at = container["args"].index("--tables")
        assert container["args"][at : at + 4] == tables
    with pytest.raises(click.UsageError):
        parse([*words_of(run), "--concurency", "8"])


@pytest.mark.slow
def test_the_jobs_ladder_runs(tmp_path: Path) -> None:
    """With the image's working folder, shorter, and against a server that answers at once."""
    pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")
    from loadstone import engine
    from loadstone.model.null_server import NullServerSettings

    server = engine.null_server(NullServerSettings(host="127.0.0.1", port=0))
    words = words_of(pod_of(manifest("job.yaml")[1])["containers"][0])
    for name, value in {
        "--target": f"mysql://bench@127.0.0.1:{server.port}/sbtest",
        "--table-size": "10k",  # as the null server says
        "--duration": "1s",
        "--repeats": "1",
        "--metrics": "127.0.0.1:0",
    }.items():
        words[words.index(name) + 1] = value
    called(*words, "--warmup", "0s", folder=tmp_path)
    server.stop()
    (run,) = (tmp_path / "runs").iterdir()
    result = json.loads((run / "result.json").read_text())
    assert [step["concurrency"] for step in result["steps"]] == [1, 8, 64]


def test_the_chart_is_of_this_version_and_explains_its_values() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    assert chart["kubeVersion"] == f">={OLDEST}.0-0"
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values.keys() | {"global"} == schema["properties"].keys()
    Draft7Validator(schema).validate(values)
    # Go's expressions have no lookahead: helm would refuse the whole schema.
    assert "(?" not in json.dumps(schema)
    named = {
        name
        for path in (CHART / "templates").iterdir()
        for name in re.findall(r"\.Values\.(\w+)", path.read_text())
    }
    assert named == values.keys()


@pytest.mark.parametrize(
    ("target", "is_good"),
    [
        ("mysql://bench@db:3306/sbtest", True),
        ("mariadb://db/sbtest?tls=required", True),
        ("mysql://bench:secret@db/sbtest", False),
        ("db:3306", False),
    ],
)
def test_the_chart_takes_no_password(target: str, is_good: bool) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert Draft7Validator(schema).is_valid(values | {"target": target}) == is_good


@pytest.fixture(scope="module")
def helm() -> str:
    found = shutil.which("helm", path=str(ROOT / ".cache" / "helm")) or shutil.which("helm")
    if found is None:
        pytest.skip("there is no helm here: tools/get-helm")
    return found


def templated(helm: str, *options: str) -> list[Document]:
    done = subprocess.run(
        [helm, "template", "ladder", str(CHART), "--kube-version", f"{LATEST}", *options],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


PLAN = '[sandbox]\n[[workload]]\nname = "oltp_read_only"\n'
VARIANTS = {
    "as it is": (),
    "another image": ("--set", "image.tag=x", "--set-json", 'imagePullSecrets=[{"name":"a"}]'),
    "a claim of yours": ("--set", "runs.existingClaim=mine"),
    "without tables": ("--set", "prepare=false", "--set", "metricsPort=0"),
    "placed": (
        "--set-json",
        'nodeSelector={"a":"b"}',
        "--set-json",
        'tolerations=[{"key":"bench","operator":"Exists"}]',
        "--set-json",
        'affinity={"nodeAffinity":{}}',
    ),
    "pushed": ("--set", "push.otlp=http://otel:4318", "--set", "push.remoteWrite=http://prom:9090"),
    "an experiment": ("--set-file", "experiment={plan}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_kubernetes_takes_what_the_chart_makes(helm: str, variant: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    options = [word.replace("{plan}", str(plan)) for word in VARIANTS[variant]]
    made = templated(helm, *options)
    for document in made:
        checked(document)
    (job,) = (one for one in made if one["kind"] == "Job")
    pod = pod_of(job)
    assert_unprivileged(pod)
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        if container["args"][0] != "experiment":
            parse(words_of(container))
    claims = [one for one in made if one["kind"] == "PersistentVolumeClaim"]
    assert len(claims) == (variant != "a claim of yours")
    if variant == "an experiment":
        (config,) = (one for one in made if one["kind"] == "ConfigMap")
        assert config["data"]["experiment.toml"].strip() == PLAN.strip()
        assert pod["containers"][0]["args"][:2] == ["experiment", "/etc/loadstone/experiment.toml"]


@pytest.mark.slow
def test_helm_finds_nothing_to_complain_about(helm: str) -> None:
    done = subprocess.run([helm, "lint", "--strict", CHART], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong",
    ["target=mysql://u:secret@h/x", "targett=x", "metricsPort=web", "push.otlp=grpc://h"],
)
def test_values_that_are_none_are_refused(helm: str, wrong: str) -> None:
    done = subprocess.run(
        [helm, "template", "ladder", CHART, "--set", wrong], capture_output=True, text=True
    )
    assert done.returncode != 0
    assert wrong.partition("=")[0].partition(".")[0] in done.stderr
