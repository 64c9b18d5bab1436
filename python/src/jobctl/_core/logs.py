"""Logs: text, or followed over server-sent events, over cut connections without loss or double."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, Optional, Set, Tuple

from ..errors import ApiError, ConnectionLost, Unauthenticated, Unavailable, UnexpectedAnswer
from ..models import AttemptEnd, LogEvent, LogStretch, Problem
from . import routes
from .calls import Calls, Query, request_of
from .decode import decode
from .effects import Answer, ConnectionCut, Emit, Operation, Request, now, read, token
from .problem import error_of
from .sse import EventParser, ServerEvent

EVENT_STREAM = "text/event-stream"
# Node takes 16 KiB of headers: the place in a log of more hosts is not sent, and the log begins anew.
MOST_ID = 8_000


def log_request(job: str, attempt: Optional[int], stream: str, host: Optional[int], follow: bool) -> Request:
    query: Query = (("attempt", attempt), ("stream", stream), ("host", host), ("follow", True if follow else None))
    accept = EVENT_STREAM if follow else "text/plain"
    return request_of(routes.LOGS, job, query=query, headers={"accept": accept})


def log_bytes(calls: Calls, request: Request) -> Operation[bytes]:
    answer = yield from calls.send(request)
    return answer.body


def log_text(calls: Calls, request: Request) -> Operation[str]:
    return (yield from log_bytes(calls, request)).decode("utf-8", "replace")


def follow(calls: Calls, request: Request) -> Operation[None]:
    """
    Emits LogEvents until the log is complete.

    Of each attempt and host the stretches are an exact prefix of its output: of what comes again after a cut, only what is new
    is emitted. Where the server ends a log because the token has expired, it goes on with a new one. Raises ConnectionLost after
    `Retry.for_s` without anything new, of which a connection that lasted as long is some.
    """
    place = Place()
    tries = 0
    began = yield from now()
    while True:
        known = place.moves
        opened = yield from now()
        try:
            if (yield from _follow_once(calls, place.resumed(request), place)):
                return
            failure: Exception = ConnectionLost(f"GET {request.path}: the server closed the log before its end")
        except ConnectionCut as cut:
            failure = ConnectionLost(f"GET {request.path}: {cut}")
        except Unavailable as error:
            failure = error
        except LoginEnded as ended:
            failure = ended.problem
            if (yield from token(True)) is None:
                raise failure from None
        ended_at = yield from now()
        if place.moves > known or ended_at - opened > calls.retry.for_s:
            tries, began = 0, ended_at
        yield from calls.pause_or_raise(began, tries, failure)
        tries += 1


def _follow_once(calls: Calls, request: Request, place: "Place") -> Operation[bool]:
    """-> whether the log is at its end; else the connection was."""
    answer = yield from calls.open(request)
    _must_be_events(request, answer)
    parser = EventParser()
    while piece := (yield from read()):
        for event in parser.feed(piece):
            if event.name == "end":
                return True
            if (item := place.take(event)) is not None:
                yield Emit(item)
    return False


def _must_be_events(request: Request, answer: Answer) -> None:
    kind = answer.headers.get("content-type", "nothing")
    if not kind.startswith(EVENT_STREAM):
        raise UnexpectedAnswer(f"GET {request.path}: {EVENT_STREAM} is wanted, and {kind} came")


class LoginEnded(Exception):
    """In the middle of a log. A token that is refused before its first byte is another matter."""

    def __init__(self, problem: ApiError) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass
class Place:
    """How far the output of each attempt and host was given."""

    given: Dict[Tuple[int, int], int] = field(default_factory=dict)
    # Of the last event; the server goes on behind it.
    event_id: str = ""
    # Goes up with each item that is given.
    moves: int = 0
    # Attempt, host and offset.
    _tails: Set[Tuple[int, int, int]] = field(default_factory=set)
    _ended: Set[int] = field(default_factory=set)

    def resumed(self, request: Request) -> Request:
        if self.event_id == "" or len(self.event_id) > MOST_ID:
            return request
        return replace(request, headers={**request.headers, "last-event-id": self.event_id})

    def take(self, event: ServerEvent) -> Optional[LogEvent]:
        """What is new of an event, if anything is. Raises for `problem`: LoginEnded, else ApiError."""
        item: Optional[LogEvent] = None
        if event.name == "stretch":
            item = self._stretch(decode(LogStretch, _json(event), "event stretch"))
        elif event.name == "attempt-end":
            item = self._attempt_end(decode(AttemptEnd, _json(event), "event attempt-end"))
        elif event.name == "problem":
            problem = _problem(event)
            raise LoginEnded(problem) if isinstance(problem, Unauthenticated) else problem
        self.event_id = event.id
        self.moves += item is not None
        return item

    def _stretch(self, stretch: LogStretch) -> Optional[LogStretch]:
        if stretch.is_lost_tail:
            return self._tail(stretch)
        key = (stretch.attempt, stretch.host)
        given = self.given.get(key, 0)
        end = stretch.offset + len(stretch.data)
        if stretch.offset > given:
            raise _gap(stretch, given)
        self.given[key] = max(given, end)
        return None if end <= given else replace(stretch, offset=given, data=stretch.data[given - stretch.offset :])

    def _tail(self, stretch: LogStretch) -> Optional[LogStretch]:
        tail = (stretch.attempt, stretch.host, stretch.offset)
        is_new = tail not in self._tails
        self._tails.add(tail)
        return stretch if is_new else None

    def _attempt_end(self, end: AttemptEnd) -> Optional[AttemptEnd]:
        is_new = end.attempt not in self._ended
        self._ended.add(end.attempt)
        return end if is_new else None


def _gap(stretch: LogStretch, given: int) -> UnexpectedAnswer:
    return UnexpectedAnswer(
        f"event stretch: byte {stretch.offset} of host {stretch.host}, attempt {stretch.attempt}, came after byte {given}",
        remedy="a part of the log is missing: read it whole, without following",
    )


def _json(event: ServerEvent) -> object:
    try:
        return json.loads(event.data)
    except ValueError:
        raise UnexpectedAnswer(f"event {event.name}: is no JSON: {event.data[:80]!r}") from None


def _problem(event: ServerEvent) -> ApiError:
    problem = decode(Problem, _json(event), "event problem")
    headers: Mapping[str, str] = {"content-type": "application/problem+json"}
    return error_of(Answer(problem.status, headers, event.data.encode()), "event problem")
