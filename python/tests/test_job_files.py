from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from callers import Caller
from scripted_server import ScriptedServer, answer
from test_calls import SUBMITTED

from jobctl.errors import JobFileError
from jobctl.job_files import load


def test_a_file_goes_as_its_text_with_the_variables_that_it_names(
    server: ScriptedServer, call: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A", "1")
    monkeypatch.setenv("B", "2")
    text = "name: a # why\nenv: {V: '${oc.env:A} ${oc.env:GONE,x}'}\n"
    place = tmp_path / "job.yaml"
    place.write_text(text)
    server.will(answer(SUBMITTED), answer(SUBMITTED))
    call("submit", place)
    call("submit", {"name": "${oc.env:B}"})
    assert [one.json for one in server.seen] == [
        {"file": {"name": str(place), "text": text}, "env": {"A": "1"}},
        {"job": {"name": "${oc.env:B}"}, "env": {"B": "2"}},
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
