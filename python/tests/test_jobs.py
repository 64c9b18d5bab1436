"""Submitting with files, listing, waiting."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Dict, List

import pytest
from callers import Caller
from scripted_server import RESET, Reply, ScriptedServer, Seen, answer, problem
from test_calls import ROW, SUBMITTED

from jobctl import Retry, errors
from jobctl._core.address import is_foreign_store
from jobctl._core.effects import Request
from jobctl._transport.shared import arguments

OUTCOME = {"result": "failed", "exitCode": 3, "attempts": 1, "preemptions": 0, "submittedAt": 0, "endedAt": 1500}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def target(path: str, **more: object) -> Dict[str, object]:
    return {"path": path, "object": f"files/{path}", "state": "wanted", **more}


def test_files_are_sent_before_the_job_and_only_those_that_are_wanted(
    server: ScriptedServer, call: Caller, tmp_path: Path
) -> None:
    big = os.urandom(3_000_000)
    place = tmp_path / "big.tar.gz"
    place.write_bytes(big)
    targets = [target("bundle:src"), target("requirements.txt", state="exists")]
    server.will(answer({"files": targets}), Reply(204, b""), answer(SUBMITTED, 201))
    call("submit", {"name": "a"}, files={"bundle:src": place, "requirements.txt": b"jax\n"})
    plan, put, submit = server.seen
    assert plan.json == {
        "files": [
            {"path": "bundle:src", "sha256": sha(big), "size": len(big)},
            {"path": "requirements.txt", "sha256": sha(b"jax\n"), "size": 4},
        ]
    }
    assert (put.method, put.path, put.query) == (
        "PUT",
        "/v1/uploads/content",
        (("path", "bundle:src"), ("sha256", sha(big))),
    )
    assert put.body == big
    assert put.headers["content-length"] == str(len(big))
    assert submit.json["files"] == {"bundle:src": sha(big), "requirements.txt": sha(b"jax\n")}


def test_an_upload_that_is_cut_is_sent_again_whole(server: ScriptedServer, call: Caller, tmp_path: Path) -> None:
    place = tmp_path / "f"
    place.write_bytes(b"content")
    server.will(answer({"files": [target("f")]}), RESET, Reply(204, b""), answer(SUBMITTED))
    call("submit", {"name": "a"}, files={"f": place})
    assert [one.body for one in server.seen[1:3]] == [b"content", b"content"]


def test_a_large_file_goes_to_the_store_without_the_token_and_is_completed(make: Any, server: ScriptedServer) -> None:
    elsewhere = ScriptedServer()
    try:
        elsewhere.will(Reply(200, b""))
        offered = target("f", url=f"{elsewhere.url}/session?id=1", upload="0" * 32)
        server.will(answer({"files": [offered]}), Reply(204, b""), answer(SUBMITTED))
        make(server.url, token="secret")("submit", {"name": "a"}, files={"f": b"content"})
        (put,) = elsewhere.seen
    finally:
        elsewhere.close()
    assert (put.path, put.query, put.body) == ("/session", (("id", "1"),), b"content")
    assert put.headers["content-range"] == "bytes 0-6/7"
    assert "authorization" not in put.headers
    complete = server.seen[1]
    assert (complete.method, complete.path) == ("POST", "/v1/uploads/complete")
    assert complete.json == {"path": "f", "sha256": sha(b"content"), "upload": "0" * 32}
    assert all(one.headers["authorization"] == "Bearer secret" for one in server.seen)


def test_a_store_that_is_out_of_reach_is_reached_by_the_server(make: Any, server: ScriptedServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    offered = target("f", url=f"http://127.0.0.1:{port}/session", upload="0" * 32)
    server.will(answer({"files": [offered]}), Reply(204, b""), answer(SUBMITTED))
    make(server.url, retry=Retry(for_s=0))("submit", {"name": "a"}, files={"f": b"content"})
    assert [(one.method, one.path) for one in server.seen] == [
        ("POST", "/v1/uploads"),
        ("PUT", "/v1/uploads/content"),
        ("POST", "/v1/jobs"),
    ]


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "https://localhost:9/x", "http://[::1]:9/x"])
def test_a_server_elsewhere_has_nothing_sent_to_this_computer(url: str) -> None:
    with pytest.raises(errors.ConfigurationError, match="this computer"):
        arguments("https://jobs.example.org", Request("PUT", url), False)


def test_a_host_that_is_not_cloud_storages_is_not_asked(server: ScriptedServer, call: Caller) -> None:
    offered = target("f", url="https://printer.example/x", upload="0" * 32)
    server.will(answer({"files": [offered]}), Reply(204, b""), answer(SUBMITTED))
    call("submit", {"name": "a"}, files={"f": b"content"})
    assert [one.path for one in server.seen] == ["/v1/uploads", "/v1/uploads/content", "/v1/jobs"]
    assert is_foreign_store("https://googleapis.com.evil.example/x")
    assert not is_foreign_store("https://storage.googleapis.com/x")


def test_a_signed_url_in_the_clear_is_refused(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({"files": [target("f", url="http://storage.example.org/f?sig=1", upload="0" * 32)]}))
    with pytest.raises(errors.ConfigurationError, match="storage.example.org"):
        call("submit", {"name": "a"}, files={"f": b"content"})


class Swallower:
    """Takes one upload piece by piece, and says after the first when it may go on."""

    def __init__(self) -> None:
        self.got = b""
        self.length = 0
        self.first_piece = threading.Event()
        self.may_go_on = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/f"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                head += connection.recv(65536)
            head, _, self.got = head.partition(b"\r\n\r\n")
            self.length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            self.first_piece.set()
            self.may_go_on.wait(20)
            while piece := connection.recv(1 << 20):
                self.got += piece

    def close(self) -> None:
        self.may_go_on.set()
        self._thread.join(20)
        self._listener.close()


def test_of_a_file_that_changes_meanwhile_the_last_bytes_are_never_sent(
    server: ScriptedServer, call: Caller, tmp_path: Path
) -> None:
    # Longer than what sockets hold, so that the upload is still going on when the file changes.
    size = 64 << 20
    place = tmp_path / "f"
    place.write_bytes(b"a" * size)
    store = Swallower()

    def change() -> None:
        store.first_piece.wait(20)
        with place.open("r+b") as file:
            file.seek(size - 10)
            file.write(b"b")
        store.may_go_on.set()

    changer = threading.Thread(target=change)
    changer.start()
    server.will(answer({"files": [target("f", url=store.url, upload="0" * 32)]}))
    try:
        with pytest.raises(errors.FileChanged, match="nothing was submitted"):
            call("submit", {"name": "a"}, files={"f": place})
    finally:
        store.close()
        changer.join()
    assert store.length == size
    assert len(store.got) < size
    assert len(server.seen) == 1


@pytest.mark.parametrize("wrong, says", [("gone", "No such file"), (".", "is a folder")])
def test_a_file_that_cannot_be_read_is_named(
    server: ScriptedServer, call: Caller, tmp_path: Path, wrong: str, says: str
) -> None:
    with pytest.raises(errors.ConfigurationError, match=rf"files\['x'\].*{says}"):
        call("submit", {"name": "a"}, files={"x": tmp_path / wrong})
    assert server.seen == []


def test_a_list_goes_on_over_its_pages(server: ScriptedServer, call: Caller) -> None:
    def page(ids: List[str], token: str = "") -> Reply:
        more = {"nextPageToken": token} if token else {}
        return answer({"rows": [{**ROW, "id": one} for one in ids], "total": 3, "open": 1, **more})

    server.will(page(["a", "b"], "t+1"), page(["c"]))
    since = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    rows = call("list", user="u", phase=["running", "queued"], since=since, page_size=2)
    assert [one.id for one in rows] == ["a", "b", "c"]
    first = {"user": "u", "phase": "running,queued", "since": "1767218400000", "limit": "2"}
    assert [dict(one.query) for one in server.seen] == [first, {**first, "pageToken": "t+1"}]


def test_a_page_is_asked_for_when_it_is_needed(server: ScriptedServer) -> None:
    from jobctl import Client

    server.will(answer({"rows": [ROW], "total": 2, "open": 1, "nextPageToken": "t"}))
    with Client(server.url) as client:
        assert next(client.list()).id == "a"
    assert len(server.seen) == 1


def test_times_are_in_utc_to_the_millisecond(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({**ROW, "phaseSince": 1_767_225_600_123, "outcome": OUTCOME}))
    job = call("status", "a")
    assert job.phase_since == datetime(2026, 1, 1, 0, 0, 0, 123_000, tzinfo=timezone.utc)
    assert job.outcome.ended_at == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc)
    assert (job.outcome.exit_code, job.outcome.started_at) == (3, None)


def test_wait_polls_until_the_outcome_is_there(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({"isOver": False}), RESET, answer({"isOver": True, "outcome": OUTCOME}))
    assert call("wait", "a").result == "failed"
    assert [one.query for one in server.seen] == [(("timeoutMs", "30000"),)] * 3


def test_wait_gives_up_at_its_timeout(server: ScriptedServer, call: Caller) -> None:
    def late(seen: Seen) -> Reply:
        time.sleep(int(dict(seen.query)["timeoutMs"]) / 1000)
        return answer({"isOver": False})

    server.will(late, late, late)
    began = time.monotonic()
    with pytest.raises(errors.WaitTimeout, match="job a has not ended after 0.3 s"):
        call("wait", "a", timeout=0.3)
    assert 0.25 < time.monotonic() - began < 5
    assert len(server.seen) == 1


def test_a_timeout_of_zero_looks_once(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({"isOver": True, "outcome": OUTCOME}))
    assert call("wait", "a", timeout=0).exit_code == 3
    assert server.seen[0].query == (("timeoutMs", "0"),)


def test_a_job_without_an_outcome_is_an_error(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({"isOver": True}))
    with pytest.raises(errors.Refused, match="has ended without an outcome"):
        call("wait", "a")


def test_a_job_that_a_worker_refused_is_an_error(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(422, "invalid", detail="priority: '3' is no number"))
    with pytest.raises(errors.Invalid, match="priority: '3' is no number"):
        call("wait", "a")
