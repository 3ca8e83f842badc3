"""The manifests of docs/cluster, checked against the schemas of their consumers."""

from __future__ import annotations

import importlib.util
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: make test-cluster"
    ),
]

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "cluster"


def manifest(name: str) -> Any:
    import yaml

    return yaml.safe_load((DOCS / name).read_text())


def faults(schema: Any, document: Any) -> list[str]:
    import jsonschema

    validator = jsonschema.validators.validator_for(schema)
    validator.check_schema(schema)
    return [
        f"{error.json_path}: {error.message}" for error in validator(schema).iter_errors(document)
    ]


def of_ray() -> Any:
    """The schema by which `ray up` itself checks a file."""
    import ray

    text = Path(ray.__file__).with_name("autoscaler").joinpath("ray-schema.json").read_text()
    return json.loads(text)


def of_kuberay() -> Any:
    return json.loads((HERE / "raycluster.schema.json").read_text())


def test_ray_up_takes_the_manifest() -> None:
    document = manifest("ray-up.yaml")
    assert faults(of_ray(), document) == []
    kinds = document["available_node_types"]
    assert kinds[document["head_node_type"]]["resources"] == {"CPU": 0}
    assert kinds["generator"]["min_workers"] == document["max_workers"] == 3
    # A schema that refuses nothing would prove nothing.
    assert faults(of_ray(), document | {"cluster_nam": "x"})
    assert faults(of_ray(), {"cluster_name": "x"})


def test_kuberay_takes_the_manifest() -> None:
    document = manifest("kuberay.yaml")
    assert faults(of_kuberay(), document) == []
    (workers,) = document["spec"]["workerGroupSpecs"]
    assert document["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    together = workers["template"]["spec"]["affinity"]["podAntiAffinity"]
    (rule,) = together["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rule["labelSelector"]["matchLabels"]["ray.io/cluster"] == document["metadata"]["name"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("apiVersion",), "ray.io/v2"),
        (("spec", "workerGroupSpec"), []),
        (("spec", "headGroupSpec", "rayStartParams", "num-cpus"), 0),
        (("spec", "workerGroupSpecs", 0, "minReplicas"), "three"),
        (("spec", "workerGroupSpecs", 0, "template", "spec", "containers"), []),
    ],
)
def test_a_manifest_that_is_wrong_is_noticed(path: tuple[str | int, ...], value: object) -> None:
    document = deepcopy(manifest("kuberay.yaml"))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert faults(of_kuberay(), document)


def test_the_manifests_want_the_version_of_ray_that_is_tested() -> None:
    import ray

    text = (DOCS / "kuberay.yaml").read_text()
    assert manifest("kuberay.yaml")["spec"]["rayVersion"] == ray.__version__
    assert text.count(f":{ray.__version__}\n") == 2
