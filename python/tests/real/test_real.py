"""Both clients against a real `jobctl serve`, its Temporal, its worker and the simulated cloud."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Dict, List
from urllib.parse import urlsplit

import pytest

from jobctl import AttemptEnd, LogStretch, errors
from jobctl.pool_state import QuotaLease
from real.conftest import URL, As
from real.cutter import Cutter

LINES = 400


def job(run: str, **more: Any) -> Dict[str, Any]:
    tpu = {"accelerator": "v5litepod-1", "zone": "us-central1-a", "allocation_mode": "queued-resources"}
    return {"name": "py", "project": "vision", "tpu": {**tpu, "pricing": "spot"}, "command": {"run": run}, **more}


def test_a_job_from_its_file_to_its_outputs(as_: As, kind: str, tmp_path: Path) -> None:
    alice = as_("alice")
    (tmp_path / "job.yaml").write_text(
        "name: py\nproject: vision\n"
        "tpu: {accelerator: v5litepod-1, zone: us-central1-a, allocation_mode: queued-resources, pricing: spot}\n"
        "env: {VERSION: 3.10}\n"
        "files: [{from: config.json, to: ~/config.json}]\n"
        "command:\n  run: |\n    cat ~/config.json; echo $VERSION\n"
        "    mkdir -p $JOBCTL_OUTPUT_DIR/deep; printf stored > $JOBCTL_OUTPUT_DIR/deep/file\n"
    )
    config = f'{{"by": "{kind}"}}\n'.encode()
    submitted = alice("submit", tmp_path / "job.yaml", files={"config.json": config})
    assert submitted.is_new
    outcome = alice("wait", submitted.id, timeout=120)
    assert (outcome.result, outcome.exit_code) == ("succeeded", 0)
    row = alice("status", submitted.id)
    assert (row.phase, row.user, row.project, row.is_verified) == ("succeeded", "alice@example.org", "vision", True)
    assert alice("logs", submitted.id, host=0) == f"{config.decode()}3.10\n"
    assert alice("logs", submitted.id) == f"0 | {config.decode()}0 | 3.10\n"
    described = alice("describe", submitted.id)
    assert (described.attempt, described.raw["spec"]["name"]) == (1, "py")
    assert alice("why", submitted.id).phase == "succeeded"
    (host,) = alice("outputs", submitted.id).hosts
    assert [(one.path, one.sha256) for one in host.entries] == [("deep/file", hashlib.sha256(b"stored").hexdigest())]
    got = alice("download", submitted.id, tmp_path / "out")
    assert [one.read_bytes() for one in got.files] == [b"stored"]
    # What is left of it in the cloud is deleted first.
    until("it is closed", lambda: alice("status", submitted.id).ended_at and alice("open_slices", submitted.id) == ())
    assert alice("delete", submitted.id).objects > 0
    assert alice("outputs", submitted.id).hosts == ()


def test_a_log_over_connections_that_are_cut_is_the_log(as_: As) -> None:
    alice = as_("alice")
    # Slow enough to be followed while it runs.
    run = f"for i in $(seq {LINES}); do echo line $i of {LINES}; [ $((i % 100)) = 0 ] && sleep 0.5; done; true"
    submitted = alice("submit", job(run))
    parts = urlsplit(URL)
    cutter = Cutter(parts.hostname or "", parts.port or 0, after_bytes=4_000, most_cuts=3)
    try:
        events = as_("alice", url=cutter.url)("follow_logs", submitted.id)
    finally:
        cutter.close()
    text = b"".join(one.data for one in events if isinstance(one, LogStretch))
    assert text.decode() == "".join(f"line {i} of {LINES}\n" for i in range(1, LINES + 1))
    assert [one for one in events if isinstance(one, AttemptEnd)] == [AttemptEnd(1)]
    assert cutter.cuts >= 2
    assert alice("log_bytes", submitted.id, host=0) == text


def test_one_key_is_one_job_however_many_ask_at_once(as_: As, kind: str) -> None:
    callers = [as_("alice") for _ in range(4)]
    key = f"key-{kind}-{datetime.now().timestamp()}"
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda one: one("submit", job("true"), idempotency_key=key), callers))
    assert len({one.id for one in answers}) == 1
    assert [one.is_new for one in answers].count(True) == 1
    with pytest.raises(errors.NameTaken):
        callers[0]("submit", job("false"), idempotency_key=key)


def test_what_people_ask_of_a_job(as_: As) -> None:
    alice = as_("alice")
    job_id = alice("submit", job("sleep 600")).id
    with pytest.raises(errors.WaitTimeout):
        alice("wait", job_id, timeout=0.5)
    assert alice("priority", job_id, 5).message
    until_running(alice, job_id)
    assert alice("stop", job_id).message
    until_phase(alice, job_id, "paused")
    assert alice("resume", job_id, set={"command.run": "echo changed; sleep 600"}).message
    until_running(alice, job_id)
    # A phase says nothing of what a command has printed.
    until("it has printed", lambda: "changed" in alice("logs", job_id))
    with pytest.raises(errors.Refused):
        alice("resume", job_id)
    assert alice("cancel", job_id).state == "cancelling"
    outcome = alice("wait", job_id, timeout=120)
    assert (outcome.result, outcome.raw["cause"]["asker"]["by"]) == ("cancelled", "alice@example.org")
    assert alice("cancel", job_id).state == "done"


def until(claim: str, is_so: Callable[[], object]) -> None:
    limit = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < limit, f"after 90 s not: {claim}"
        time.sleep(0.2)


def until_running(caller: Any, job_id: str) -> None:
    until_phase(caller, job_id, "running")


def until_phase(caller: Any, job_id: str, phase: str) -> None:
    until(f"{job_id} is {phase}", lambda: caller("status", job_id).phase == phase)


def test_lists_by_page(as_: As) -> None:
    alice = as_("alice")
    began = datetime.now(timezone.utc) - timedelta(seconds=1)
    ids = {alice("submit", job("true", name="listed")).id for _ in range(3)}
    for one in ids:
        alice("wait", one, timeout=120)
    rows = alice("list", user="alice@example.org", name="listed", since=began, page_size=2)
    assert {one.id for one in rows} >= ids
    assert len({one.id for one in rows}) == len(rows)
    assert {one.id for one in alice("list", ids=sorted(ids))} == ids
    counts = alice("count", ids=sorted(ids), phase="succeeded")
    assert (counts.total, counts.open, counts.ended) == (3, 0, {"succeeded": 3})


def test_who_may_not_is_told_so(as_: As) -> None:
    alice, mallory = as_("alice"), as_("mallory")
    job_id = alice("submit", job("sleep 600")).id
    for method, *more in (("logs",), ("cancel",), ("describe",), ("priority", 1), ("restart",)):
        with pytest.raises(errors.Forbidden, match="mallory@example.org may not") as failure:
            mallory(method, job_id, *more)
        assert failure.value.request_id
    with pytest.raises(errors.Forbidden, match="may not"):
        mallory("follow_logs", job_id)
    with pytest.raises(errors.Forbidden):
        alice("audit")
    alice("cancel", job_id)


def test_errors_by_their_kind(as_: As) -> None:
    alice = as_("alice")
    with pytest.raises(errors.NotFound, match="never-was"):
        alice("status", "never-was")
    with pytest.raises(errors.Invalid, match=r"tpu\.accelerator"):
        alice("submit", job("true", tpu={"accelerator": "v99"}))
    with pytest.raises(errors.Invalid, match="limit"):
        alice("list", page_size=5000)
    with pytest.raises(errors.Unauthenticated, match="(?i)expired|exp"):
        as_("expired")("whoami")


def test_who_am_i_and_what_may_i(as_: As) -> None:
    alice = as_("alice")
    who = alice("whoami")
    assert (who.kind, who.id) == ("user", "alice@example.org")
    assert who.expires_at > datetime.now(timezone.utc)
    rows = {one.verb: one.is_allowed for one in alice("access_explain", project="vision")}
    assert (rows["submit"], rows["audit"]) == (True, False)
    assert alice("secret_names", "vision") == ()


def test_an_operator_of_the_pool(as_: As, tmp_path: Path) -> None:
    alice, olga = as_("alice"), as_("olga")
    job_id = alice("submit", job("sleep 600")).id
    until_running(alice, job_id)
    # A pool is published now and then, not with each lease.
    until("its lease is published", lambda: leases_of(olga, job_id))
    (lease,) = leases_of(olga, job_id)
    assert (lease.project, lease.user) == ("vision", "alice@example.org")
    assert olga("admission", state="frozen", reason="for a test").message
    assert olga("admission", state="open").message
    wrong = tmp_path / "quota.toml"
    wrong.write_text("[[total_resources]]\nv5litepod = -1\n")
    with pytest.raises((errors.Invalid, errors.Refused)):
        olga("quota_apply", quota_file=wrong)
    with pytest.raises(errors.Forbidden):
        as_("mallory")("cancel", job_id)
    alice("cancel", job_id)
    # A look that everybody has, as at a status, is no line.
    assert [(one.verb, one.subject, one.decision) for one in olga("audit", job=job_id)] == [
        ("submit", "alice@example.org", "allowed"),
        ("cancel", "mallory@example.org", "refused"),
        ("cancel", "alice@example.org", "allowed"),
    ]


def leases_of(caller: Any, job_id: str) -> List[QuotaLease]:
    return [one for one in caller("quota_show").leases if one.job == job_id]
