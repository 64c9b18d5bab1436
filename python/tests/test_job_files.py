from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

import pytest
from callers import Caller
from scripted_server import ScriptedServer, answer
from test_calls import SUBMITTED

from jobctl.errors import JobFileError
from jobctl.job_files import load, parse

# What YAML 1.1 would read otherwise, YAML that PyYAML knows and we read ourselves, and values that keep their text.
VALUES: Dict[str, Any] = {
    "x: on": {"x": "on"},
    "x: NO": {"x": "NO"},
    "x: True": {"x": True},
    "x: 1:30": {"x": "1:30"},
    "x: 12:30:45": {"x": "12:30:45"},
    "x: 010": {"x": 10},
    "x: 0o10": {"x": 8},
    "x: 0x1F": {"x": 31},
    "x: 1e-3": {"x": 0.001},
    "x: .5": {"x": 0.5},
    "x: 1_000": {"x": "1_000"},
    "x: 2026-11-24": {"x": "2026-11-24"},
    "x: ~": {"x": None},
    "x:": {"x": None},
    "x: ''": {"x": ""},
    "x: '1'": {"x": "1"},
    "x: !!str 1": {"x": "1"},
    "x: !!int '1'": {"x": 1},
    "1: x": {"1": "x"},
    "true: x": {"true": "x"},
    "x: |\n  1\n": {"x": "1\n"},
    "=: x": {"=": "x"},
    "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}": {"a": {"x": 1, "y": 2}, "b": {"x": 1, "y": 3}},
    "b: {<<: {x: 1}, <<: {x: 2}}": {"b": {"x": 1}},
    "b: {<<: [{x: 1}, {x: 2, z: 3}]}": {"b": {"x": 1, "z": 3}},
    "env: {V: 3.10, W: 007, B: true}": {"env": {"V": "3.10", "W": "007", "B": True}},
    "venv: {python: 3.10}": {"venv": {"python": "3.10"}},
    "tpu: {labels: {a: 1.0}, accelerator: 4}": {"tpu": {"labels": {"a": "1.0"}, "accelerator": 4}},
    "x: {env: {V: 3.10}}": {"x": {"env": {"V": 3.1}}},
}


@pytest.mark.parametrize("text, wanted", VALUES.items())
def test_yaml_is_yaml_1_2(text: str, wanted: Any) -> None:
    got = parse(text, "job.yaml", {})
    assert got == wanted
    assert json.dumps(got) == json.dumps(wanted)


WRONG = {
    "x: 1\nx: 2": r"job\.yaml:2:1: not YAML: the key 'x' is there twice",
    "x: !!python/name:os.system a": "a tag .* plain YAML does not have",
    "x: !!timestamp 2026-11-24": "a tag",
    "x: .inf": "is no number that JSON has",
    "? [a]\n: b": "a key must be a text",
    "x: [": "not YAML",
    "a: 1\n---\nb: 2": "not YAML: .*single document",
    "- a": "is a list",
    "": "is a NoneType",
    "x: *nowhere": "not YAML",
    "a: &a [*a]": "multiply beyond measure",
    "<<: 1": "<< wants a mapping",
    "x: ${oc.env:GONE}": r"job\.yaml\.x: '\$\{oc\.env:GONE\}': no variable GONE",
    "x: " + "[" * 5000: "nested too deeply",
}


@pytest.mark.parametrize("text, says", WRONG.items(), ids=range(len(WRONG)))
def test_what_is_wrong_is_said_with_its_place(text: str, says: str) -> None:
    with pytest.raises(JobFileError, match=says):
        parse(text, "job.yaml", {})


def test_aliases_that_multiply_are_refused() -> None:
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )
    with pytest.raises(JobFileError, match="multiply beyond measure"):
        parse(bomb, "job.yaml", {})


def test_the_environment_is_read_where_it_is_meant() -> None:
    text = "x: 'a ${oc.env:A} ${oc.env:B, two }'\ny: ['\\${oc.env:A}', '${A} ${x.y}']"
    assert parse(text, "j.yaml", {"A": "1"}) == {"x": "a 1 two", "y": ["\\${oc.env:A}", "${A} ${x.y}"]}


def test_a_file_goes_with_its_text(server: ScriptedServer, call: Caller, tmp_path: Path) -> None:
    text = "name: a # why\nenv: {V: 1.0}\n"
    (tmp_path / "job.yaml").write_text(text)
    (tmp_path / "job.json").write_text('{"name": "b"}')
    server.will(answer(SUBMITTED), answer(SUBMITTED))
    call("submit", tmp_path / "job.yaml")
    call("submit", str(tmp_path / "job.json"))
    assert [one.json for one in server.seen] == [
        {"job": {"name": "a", "env": {"V": "1.0"}}, "source": text},
        {"job": {"name": "b"}, "source": '{"name": "b"}'},
    ]


@pytest.mark.parametrize(
    "job, says",
    [
        ({1: 2}, "the key 1 is no text"),
        ({"x": {1, 2}}, r"job\.x: \{1, 2\} is no JSON value"),
        ({"x": [float("nan")]}, r"job\.x\[0\]: nan is no JSON value"),
        (["name"], "a job is a mapping, or the path of a job file, and not a list"),
        ("/nowhere/job.yaml", "/nowhere/job.yaml: cannot be read: No such file"),
    ],
)
def test_what_is_no_job_is_refused_before_anything_is_sent(
    server: ScriptedServer, call: Caller, job: Any, says: str
) -> None:
    with pytest.raises(JobFileError, match=says):
        call("submit", job)
    assert server.seen == []


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(JobFileError, match="is not UTF-8 text"):
        load(tmp_path / "job.yaml")
