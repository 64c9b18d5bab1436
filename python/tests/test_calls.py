"""One call: token, retries, errors."""

from __future__ import annotations

import json
import time
from typing import Any, List

import pytest
from callers import Caller
from scripted_server import RESET, Reply, ScriptedServer, answer, problem

from jobctl import Retry, errors
from jobctl.auth import CachedToken

ROW = {
    "id": "a",
    "project": "p",
    "user": "u",
    "slice": "v5litepod-8",
    "pool": "default",
    "phase": "running",
    "phaseSince": 1_000,
    "submittedAt": 0,
    "attempts": 1,
}
SUBMITTED = {"id": "a", "isNew": True, "spec": {"name": "a", "pool": "default"}}
MESSAGE = {"message": "will be done"}


def test_a_cut_connection_is_made_again(server: ScriptedServer, call: Caller) -> None:
    server.will(RESET, answer(ROW))
    assert call("status", "a").phase == "running"
    assert [one.path for one in server.seen] == ["/v1/jobs/a", "/v1/jobs/a"]


def test_an_answer_that_is_cut_in_its_body_is_asked_for_again(server: ScriptedServer, call: Caller) -> None:
    server.will(Reply(body=b'{"id": "a"', cut_after=5), answer(ROW))
    assert call("status", "a").id == "a"


def test_an_id_cannot_leave_its_place_in_the_path(server: ScriptedServer, call: Caller) -> None:
    server.will(answer(ROW))
    call("status", "../pools/x?y=1")
    assert (server.seen[0].path, server.seen[0].query) == ("/v1/jobs/..%2Fpools%2Fx%3Fy%3D1", ())


@pytest.mark.parametrize("first", [RESET, problem(503, "unavailable"), problem(429, "too-many-requests")])
def test_submit_goes_with_one_key_however_often_it_is_tried(server: ScriptedServer, call: Caller, first: Reply) -> None:
    server.will(first, first, answer(SUBMITTED, 201))
    assert call("submit", {"name": "a"}).is_new
    keys = [one.headers["idempotency-key"] for one in server.seen]
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_two_submits_have_two_keys(server: ScriptedServer, call: Caller) -> None:
    server.will(answer(SUBMITTED), answer(SUBMITTED))
    call("submit", {"name": "a"})
    call("submit", {"name": "a"})
    assert len({one.headers["idempotency-key"] for one in server.seen}) == 2


def test_a_name_is_its_own_key(server: ScriptedServer, call: Caller) -> None:
    server.will(answer(SUBMITTED))
    call("submit", {"name": "a"}, name="a-1")
    assert "idempotency-key" not in server.seen[0].headers
    assert server.seen[0].json == {"job": {"name": "a"}, "name": "a-1"}


def test_a_change_of_which_the_server_is_not_sure_is_not_done_again(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(503, "unavailable"), answer(MESSAGE))
    with pytest.raises(errors.Unavailable):
        call("restart", "a")
    assert len(server.seen) == 1


@pytest.mark.parametrize("method", ["stop", "resume", "restart", "requeue", "setup"])
def test_what_may_have_been_done_is_not_done_again(server: ScriptedServer, call: Caller, method: str) -> None:
    server.will(RESET, answer(MESSAGE))
    with pytest.raises(errors.ConnectionLost, match="look at the job before you call again") as failure:
        call(method, "a")
    assert failure.value.may_be_done
    assert len(server.seen) == 1


@pytest.mark.parametrize("method", ["cancel", "delete"])
def test_what_is_as_good_twice_is_done_again(server: ScriptedServer, call: Caller, method: str) -> None:
    server.will(RESET, answer({**MESSAGE, "state": "cancelling", "objects": 1, "bytes": 2}))
    call(method, "a")
    assert len(server.seen) == 2


def test_a_restart_that_was_never_sent_is_tried_again(make: Any) -> None:
    # Nobody listens on port 1.
    call = make("http://127.0.0.1:1", retry=Retry(for_s=0.2, first_s=0.01, most_s=0.05))
    began = time.monotonic()
    with pytest.raises(errors.ConnectionLost, match="healthz") as failure:
        call("restart", "a")
    assert not failure.value.may_be_done
    assert time.monotonic() - began >= 0.1


def test_too_many_requests_waits_as_long_as_the_server_says(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(429, "too-many-requests", retry_after=1), answer(MESSAGE))
    began = time.monotonic()
    call("restart", "a")
    assert time.monotonic() - began >= 1.0


def test_a_wait_that_is_longer_than_the_time_for_retries_is_not_begun(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(429, "too-many-requests", retry_after=60, remedy="ask for fewer"))
    began = time.monotonic()
    with pytest.raises(errors.TooManyRequests, match="ask for fewer") as failure:
        call("status", "a")
    assert failure.value.retry_after == 60
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("code, kind", errors.BY_CODE.items())
def test_each_code_is_an_exception_of_its_own(make: Any, server: ScriptedServer, code: str, kind: Any) -> None:
    server.will(problem(400, code, remedy="do this"))
    with pytest.raises(errors.ApiError) as failure:
        make(server.url, retry=Retry(for_s=0))("status", "a")
    assert type(failure.value) is kind
    assert (failure.value.code, failure.value.detail, failure.value.remedy) == (code, f"it is {code}", "do this")
    assert failure.value.request_id == "r-1"
    assert str(failure.value) == f"it is {code} (request r-1)\ndo this"


def test_a_code_of_a_later_server_is_an_api_error(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(418, "teapot"))
    with pytest.raises(errors.ApiError, match="it is teapot"):
        call("status", "a")


def test_a_proxy_that_explains_in_html_is_quoted_as_text(make: Any, server: ScriptedServer) -> None:
    server.will(Reply(502, b"<h1>Bad\n gateway \x1b[2J</h1>", {"content-type": "text/html"}))
    with pytest.raises(errors.Unavailable, match=r"GET /v1/jobs/a: answered with status 502: Bad gateway \?\[2J") as e:
        make(server.url, retry=Retry(for_s=0))("status", "a")
    assert e.value.request_id is None


def test_a_redirect_is_not_followed(server: ScriptedServer, call: Caller) -> None:
    server.will(Reply(302, b"", {"location": f"{server.url}/elsewhere"}))
    with pytest.raises(errors.ApiError, match="status 302"):
        call("whoami")
    assert len(server.seen) == 1


def test_an_answer_of_another_program_is_named(server: ScriptedServer, call: Caller) -> None:
    server.will(Reply(200, b"<html>", {"content-type": "text/html"}))
    with pytest.raises(errors.UnexpectedAnswer, match="JSON is wanted, and text/html came"):
        call("status", "a")


@pytest.mark.parametrize(
    "change, says",
    [
        ({"attempts": "1"}, r"GET /v1/jobs/a\.attempts: a whole number is wanted, and the server sent '1'"),
        ({"attempts": True}, r"attempts: a whole number is wanted"),
        ({"phaseSince": None}, r"phaseSince: a number is wanted"),
        ({"outcome": {"result": "failed"}}, r"outcome\.attempts: a value is wanted, and the server sent nothing"),
    ],
)
def test_a_wrong_answer_is_shown_by_its_place(server: ScriptedServer, call: Caller, change: Any, says: str) -> None:
    server.will(answer({**ROW, **change}))
    with pytest.raises(errors.UnexpectedAnswer, match=says):
        call("status", "a")


def test_keys_and_words_of_a_later_server_pass(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({**ROW, "phase": "hovering", "altitude": 3}))
    job = call("status", "a")
    assert (job.phase, job.raw["altitude"]) == ("hovering", 3)


def test_a_refused_token_is_renewed_once(make: Any, server: ScriptedServer) -> None:
    tokens = iter(["old", "new"])
    server.will(problem(401, "unauthenticated"), answer(ROW))
    make(server.url, token=CachedToken(lambda: next(tokens)))("status", "a")
    assert [one.headers["authorization"] for one in server.seen] == ["Bearer old", "Bearer new"]


def test_a_token_that_is_refused_again_is_an_error(make: Any, server: ScriptedServer) -> None:
    server.will(*[problem(401, "unauthenticated", remedy="jobctl login")] * 3)
    with pytest.raises(errors.Unauthenticated, match="jobctl login"):
        make(server.url, token=CachedToken(lambda: "old"))("status", "a")
    assert len(server.seen) == 2


def test_a_fixed_token_is_not_sent_again(make: Any, server: ScriptedServer) -> None:
    server.will(*[problem(401, "unauthenticated")] * 2)
    with pytest.raises(errors.Unauthenticated):
        make(server.url, token="fixed")("status", "a")
    assert len(server.seen) == 1


def test_a_token_may_come_of_a_coroutine(make: Any, server: ScriptedServer) -> None:
    async def source() -> str:
        return "from-afar"

    server.will(answer(ROW))
    call = make(server.url, token=source if make(server.url).kind == "asyncio" else lambda: "from-afar")
    call("status", "a")
    assert server.seen[0].headers["authorization"] == "Bearer from-afar"


@pytest.mark.parametrize(
    "url, says",
    [
        ("http://jobctl.example.org", "show your token to the network"),
        ("http://127.0.0.1.example.org", "show your token"),
        ("ftp://127.0.0.1", "is no address of a server"),
        ("jobctl.example.org", "is no address of a server"),
        ("https://a:b@jobctl.example.org", "more than scheme, host"),
    ],
)
def test_an_address_that_would_show_the_token_is_refused(make: Any, url: str, says: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=says):
        make(url)


def test_the_server_may_stand_in_a_variable(make: Any, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBCTL_SERVER", server.url)
    server.will(answer(ROW))
    assert make(None)("status", "a").id == "a"
    monkeypatch.delenv("JOBCTL_SERVER")
    with pytest.raises(errors.ConfigurationError, match="no server is named, and JOBCTL_SERVER is not set"):
        make(None)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://127.9.9.9", "http://[::1]:2", "https://x.example.org/"])
def test_this_computer_and_https_are_not(make: Any, url: str) -> None:
    make(url)


def test_what_a_change_sends(server: ScriptedServer, make: Any) -> None:
    call = make(server.url, host_name="wks-12")
    server.will(*[answer({**MESSAGE, "state": "done"})] * 9)
    assert call("cancel", "a").state == "done"
    call("stop", "a", release=True)
    call("restart", "a", set={"command.run": "x", ("slices", 0): 1})
    call("restart", "a", replace=[0, 3])
    call("requeue", "a", zone="us-east5-a")
    call("setup", "a", modules=["venv"], force=True)
    call("priority", "a", 2)
    call("admission", "big", state="frozen", reason="tonight")
    call("quota_release", "a", because="it is off", pool="big")
    sent: List[Any] = [(one.path, one.json) for one in server.seen]
    assert sent == [
        ("/v1/jobs/a/cancel", {"from": "wks-12"}),
        ("/v1/jobs/a/stop", {"from": "wks-12", "release": True}),
        (
            "/v1/jobs/a/restart",
            {
                "from": "wks-12",
                "set": [{"path": ["command", "run"], "value": "x"}, {"path": ["slices", 0], "value": 1}],
            },
        ),
        ("/v1/jobs/a/restart", {"from": "wks-12", "replace": [0, 3]}),
        ("/v1/jobs/a/requeue", {"from": "wks-12", "zone": "us-east5-a"}),
        ("/v1/jobs/a/setup", {"from": "wks-12", "modules": ["venv"], "force": True}),
        ("/v1/jobs/a/priority", {"priority": 2}),
        ("/v1/pools/big/admission", {"admission": "frozen", "reason": "tonight"}),
        ("/v1/pools/big/release", {"job": "a", "because": "it is off"}),
    ]


def test_an_applied_file_names_the_one_that_it_replaces(server: ScriptedServer, call: Caller, tmp_path: Any) -> None:
    quota = tmp_path / "quota.toml"
    quota.write_text("a = 1")
    server.will(answer(MESSAGE), answer(MESSAGE), problem(409, "refused", detail="was changed meanwhile by olga"))
    call("quota_apply", "lab", quota_file=quota, replaces="17")
    call("quota_apply", "lab", quota_file=quota)
    sent = [json.loads(one.body)["quotaFile"] for one in server.seen]
    assert [one.get("replaces") for one in sent] == ["17", None]
    with pytest.raises(errors.Refused, match="by olga"):
        call("quota_apply", "lab", quota_file=quota, replaces="none")
