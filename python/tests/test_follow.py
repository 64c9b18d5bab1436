"""A followed log: whatever is cut, nothing is lost and nothing comes twice."""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Dict, List, Optional, Tuple

import pytest
from callers import Caller
from scripted_server import RESET, Reply, ScriptedServer, Seen, answer, problem

from jobctl import AttemptEnd, LogStretch, Retry, errors
from jobctl._core.calls import Calls
from jobctl._core.effects import Answer, ConnectionCut, Effect, Emit, GetToken, Now, Open, Pause, Read
from jobctl._core.logs import follow, log_request
from jobctl.auth import CachedToken

EVENTS = {"content-type": "text/event-stream"}
TAIL = b"[host 1 printed more, which is lost]\n"
# Attempt, host, bytes; None ends the attempt.
LOG: List[Tuple[int, int, Optional[bytes]]] = [
    (1, 0, b"first\n"),
    (1, 1, b"caf\xc3"),
    (1, 1, b"\xa9\n"),
    (1, 0, b"second\n"),
    (1, 1, TAIL),
    (1, 0, None),
    (2, 0, b"again\n"),
    (2, 0, None),
]
WHOLE = {(1, 0): b"first\nsecond\n", (1, 1): "café\n".encode() + TAIL, (2, 0): b"again\n"}


def event(name: str, data: object, place: Optional[str]) -> bytes:
    line = "" if place is None else f"id: {place}\n"
    return f"event: {name}\n{line}data: {json.dumps(data)}\n\n".encode()


class LogServer:
    """As server/routes/logs.ts: with ids it goes on behind the last one, without it begins at the first byte."""

    def __init__(self, has_ids: bool) -> None:
        self.has_ids = has_ids

    def stream(self, last_event_id: str) -> bytes:
        attempt, given = _place(last_event_id)
        known = dict(given)
        parts = [b": \n\n"]
        for number, host, data in LOG:
            if number < attempt:
                continue
            if number > attempt:
                attempt, given, known = number, {}, {}
            parts.extend(self._events(number, host, data, given, known))
        parts.append(event("end", {"phase": "succeeded"}, "3;" if self.has_ids else None))
        return b"".join(parts)

    def _events(
        self, attempt: int, host: int, data: Optional[bytes], given: Dict[int, int], known: Dict[int, int]
    ) -> List[bytes]:
        if data is None:
            return [event("attempt-end", {"attempt": attempt}, f"{attempt + 1};" if self.has_ids else None)]
        body: Dict[str, Any] = {"attempt": attempt, "host": host, "storedAt": 0}
        if data is TAIL:
            body["offset"] = known.get(host, 0)
            body = {**body, "bytes": base64.b64encode(data).decode(), "isLostTail": True}
            return [event("stretch", body, self._id(attempt, known))]
        # What the client has is passed over, also inside a stretch. `known` had it from the beginning.
        skipped = min(len(data), given.get(host, 0))
        given[host] = given.get(host, 0) - skipped
        if skipped == len(data):
            return []
        rest = data[skipped:]
        body["bytes"] = base64.b64encode(rest).decode()
        body["offset"] = known.get(host, 0)
        known[host] = known.get(host, 0) + len(rest)
        return [event("stretch", body, self._id(attempt, known))]

    def _id(self, attempt: int, known: Dict[int, int]) -> Optional[str]:
        places = ",".join(f"{host}:{offset}" for host, offset in known.items())
        return f"{attempt};{places}" if self.has_ids else None


def _place(text: str) -> Tuple[int, Dict[int, int]]:
    if text == "":
        return 1, {}
    attempt, _, rest = text.partition(";")
    return int(attempt), {int(h): int(o) for h, o in re.findall(r"(\d+):(\d+)", rest)}


def drive(
    server: LogServer, cuts: List[int], piece: int, retry: Retry, read_s: float = 0
) -> Tuple[List[Any], List[str]]:
    """The operation against streams of which the first ones are cut after so many bytes. -> what is emitted, ids sent"""
    emitted: List[Any] = []
    ids: List[str] = []
    pieces: List[bytes] = []
    is_cut = False
    clock = 0.0
    operation = follow(Calls(retry), log_request("a", None, "command", None, follow=True))
    effect: Effect = next(operation)
    try:
        while True:
            result: Any = None
            if isinstance(effect, Open):
                ids.append(effect.request.headers.get("last-event-id", ""))
                stream = server.stream(ids[-1])
                is_cut = len(cuts) >= len(ids)
                stream = stream[: cuts[len(ids) - 1]] if is_cut else stream
                pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]
                result = Answer(200, EVENTS, b"")
            elif isinstance(effect, Read):
                clock += read_s
                if not pieces and is_cut:
                    effect = operation.throw(ConnectionCut("cut", was_sent=True))
                    continue
                result = pieces.pop(0) if pieces else b""
            elif isinstance(effect, Emit):
                emitted.append(effect.item)
            elif isinstance(effect, Now):
                result = clock
            elif isinstance(effect, Pause):
                clock += effect.most_s
            else:
                assert isinstance(effect, GetToken)
            effect = operation.send(result)
    except StopIteration:
        return emitted, ids


def by_host(events: List[Any]) -> Dict[Tuple[int, int], bytes]:
    got: Dict[Tuple[int, int], bytes] = {}
    for one in events:
        if isinstance(one, LogStretch):
            key = (one.attempt, one.host)
            assert one.is_lost_tail or one.offset == len(got.get(key, b""))
            got[key] = got.get(key, b"") + one.data
    return got


SERVERS = [LogServer(False), LogServer(True)]
LENGTH = len(LogServer(True).stream(""))


@pytest.mark.parametrize("server", SERVERS)
def test_a_cut_at_any_byte_loses_nothing_and_doubles_nothing(server: LogServer) -> None:
    resumed = 0
    for cut in range(LENGTH):
        events, ids = drive(server, [cut], 7, Retry())
        assert by_host(events) == WHOLE, f"cut at {cut}"
        assert [one.attempt for one in events if isinstance(one, AttemptEnd)] == [1, 2], f"cut at {cut}"
        resumed += ids[-1] != ""
    # A server whose events have places is asked to go on there, once it has sent any.
    assert (resumed > LENGTH / 2) == server.has_ids


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("step", [1, 23, 61])
def test_cuts_one_after_the_other_do_not_either(server: LogServer, step: int) -> None:
    cuts = [*range(step, LENGTH, step)]
    events, _ = drive(server, cuts, 11, Retry(for_s=100_000))
    assert by_host(events) == WHOLE
    assert [one.attempt for one in events if isinstance(one, AttemptEnd)] == [1, 2]


def test_a_log_that_is_always_cut_before_anything_new_is_given_up() -> None:
    with pytest.raises(errors.ConnectionLost, match=r"GET /v1/jobs/a/logs: cut"):
        drive(LogServer(True), [3] * 1000, 7, Retry(for_s=30))


def test_progress_starts_the_time_for_retries_anew() -> None:
    # Each connection brings an event or two; all of them together take longer than `for_s`.
    events, ids = drive(LogServer(True), [230] * 100, 11, Retry(for_s=1.5, first_s=1, most_s=1))
    assert by_host(events) == WHOLE
    assert len(ids) >= 4


def test_over_sockets_with_a_cut_a_reset_and_a_busy_server(server: ScriptedServer, call: Caller) -> None:
    log = LogServer(True)

    def resumed(seen: Seen) -> Reply:
        return Reply(200, log.stream(seen.headers.get("last-event-id", "")), EVENTS)

    whole = log.stream("")
    busy = problem(503, "unavailable")
    server.will(Reply(200, whole, EVENTS, cut_after=len(whole) // 2), RESET, busy, resumed)
    events = call("follow_logs", "a", stream="command")
    assert by_host(events) == WHOLE
    assert [one.headers.get("last-event-id", "") != "" for one in server.seen] == [False, True, True, True]
    assert server.seen[0].query == (("stream", "command"), ("follow", "true"))
    assert "gzip" not in server.seen[0].headers["accept-encoding"]


def test_a_log_that_broke_off_is_followed_again(server: ScriptedServer, call: Caller) -> None:
    log = LogServer(True)
    away = {"type": "about:blank", "title": "", "status": 503, "code": "unavailable", "detail": "no", "requestId": "r"}
    broken = log.stream("")[:400].rpartition(b"\n\n")[0] + b"\n\n" + event("problem", away, None)
    server.will(
        Reply(200, broken, EVENTS), lambda seen: Reply(200, log.stream(seen.headers.get("last-event-id", "")), EVENTS)
    )
    assert by_host(call("follow_logs", "a")) == WHOLE
    assert len(server.seen) == 2


EXPIRED = {
    **{"type": "about:blank", "title": "", "status": 401, "code": "unauthenticated"},
    **{"detail": "the token has expired", "requestId": "r"},
}


def test_a_log_whose_token_expired_goes_on_with_a_new_one_where_it_was(make: Any, server: ScriptedServer) -> None:
    log = LogServer(True)

    def stream(seen: Seen) -> bytes:
        return log.stream(seen.headers.get("last-event-id", ""))

    def ends_after_two(seen: Seen) -> Reply:
        blocks = [block for block in stream(seen).split(b"\n\n") if block not in (b"", b": ")][:2]
        # A heartbeat between them, and none of the ids is lost by the event that ends it.
        return Reply(200, b"\n\n: \n\n".join([*blocks, b""]) + event("problem", EXPIRED, None), EVENTS)

    server.will(ends_after_two, ends_after_two, lambda seen: Reply(200, stream(seen), EVENTS))
    tokens = iter(["one", "two", "three", "four"])
    events = make(server.url, token=CachedToken(lambda: next(tokens)))("follow_logs", "a")
    assert by_host(events) == WHOLE
    assert [one.headers["authorization"] for one in server.seen] == ["Bearer one", "Bearer two", "Bearer three"]
    assert [one.headers.get("last-event-id", "") != "" for one in server.seen] == [False, True, True]


def test_a_log_whose_token_expired_ends_if_there_is_no_other(make: Any, server: ScriptedServer) -> None:
    first = LogServer(True).stream("").split(b"\n\n")[1] + b"\n\n"
    ended = Reply(200, first + event("problem", EXPIRED, None), EVENTS)
    server.will(ended)
    with pytest.raises(errors.Unauthenticated, match="the token has expired"):
        make(server.url, token="fixed")("follow_logs", "a")
    assert len(server.seen) == 1
    server.will(ended, problem(401, "unauthenticated"), problem(401, "unauthenticated"))
    with pytest.raises(errors.Unauthenticated, match="it is unauthenticated"):
        make(server.url, token=CachedToken(lambda: "old"))("follow_logs", "a")


def test_a_login_that_ends_each_log_before_anything_new_is_given_up(make: Any, server: ScriptedServer) -> None:
    server.will(*[Reply(200, event("problem", EXPIRED, None), EVENTS)] * 400)
    retry = Retry(for_s=0.5, first_s=0.05, most_s=0.1)
    with pytest.raises(errors.Unauthenticated, match="the token has expired"):
        make(server.url, token=CachedToken(lambda: "t"), retry=retry)("follow_logs", "a")
    assert 2 < len(server.seen) < 40


def test_a_quiet_log_that_is_cut_after_hours_is_followed_again() -> None:
    # Three cuts of which none brought an event, each after ten minutes of heartbeats.
    events, _ = drive(LogServer(True), [4, 4, 4], 4, Retry(for_s=60), read_s=300)
    assert by_host(events) == WHOLE


def test_a_problem_in_the_stream_is_raised(server: ScriptedServer, call: Caller) -> None:
    body = {"type": "about:blank", "title": "", "status": 403, "code": "forbidden", "detail": "no", "requestId": "r"}
    server.will(Reply(200, event("problem", body, None), EVENTS))
    with pytest.raises(errors.Forbidden, match="no"):
        call("follow_logs", "a")


def test_a_hole_in_the_log_is_an_error_and_not_a_silence(server: ScriptedServer, call: Caller) -> None:
    data = {"attempt": 1, "host": 0, "storedAt": 0, "bytes": "YQ==", "offset": 7}
    server.will(Reply(200, event("stretch", data, "1;0:8"), EVENTS))
    with pytest.raises(errors.UnexpectedAnswer, match="byte 7 of host 0, attempt 1, came after byte 0"):
        call("follow_logs", "a")


def test_who_may_not_read_is_told_at_once(server: ScriptedServer, call: Caller) -> None:
    server.will(problem(403, "forbidden"))
    with pytest.raises(errors.Forbidden):
        call("follow_logs", "a")
    assert len(server.seen) == 1


def test_json_in_the_place_of_events_is_named(server: ScriptedServer, call: Caller) -> None:
    server.will(answer({}))
    with pytest.raises(errors.UnexpectedAnswer, match="text/event-stream is wanted, and application/json came"):
        call("follow_logs", "a")


def test_the_place_in_the_log_of_very_many_hosts_is_not_sent(server: ScriptedServer, call: Caller) -> None:
    long = "1;" + ",".join(f"{host}:1" for host in range(2000))
    data = {"attempt": 1, "host": 0, "offset": 0, "storedAt": 0, "bytes": "YQ=="}
    first = Reply(200, event("stretch", data, long), EVENTS)
    server.will(first, Reply(200, event("stretch", data, "1;0:1") + event("end", {}, None), EVENTS))
    events = call("follow_logs", "a")
    assert [(one.data, one.offset) for one in events] == [(b"a", 0)]
    assert "last-event-id" not in server.seen[1].headers
