"""Jobs: submitting, looking, waiting."""

from __future__ import annotations

import math
import uuid
from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, Optional

from ..errors import Refused, UnexpectedAnswer, WaitTimeout
from ..job_files import JobFile
from ..models import CreatedSchedule, JobPage, Outcome, Submitted, Waited
from . import routes
from .calls import Calls, Query, present, request_of
from .effects import Emit, Operation, do, now
from .uploads import Files, upload

# Of one long poll; by the contract 60 s at most.
POLL_MS = 30_000
# A workflow that cannot be asked shows its end in the row a moment later than `wait` does.
SLACK_S = 30.0


@dataclass(frozen=True)
class Submission:
    file: JobFile
    name: Optional[str] = None
    user: Optional[str] = None
    files: Files = field(default_factory=dict)
    ssh_key: Optional[str] = None
    identity_keys: Optional[Mapping[str, str]] = None
    idempotency_key: Optional[str] = None


def submit(calls: Calls, wanted: Submission) -> Operation[Submitted]:
    """Uploads, then submits once: the same key goes with every try."""
    body = yield from _body(calls, wanted)
    headers: Dict[str, str] = {}
    if wanted.name is None:
        headers["idempotency-key"] = wanted.idempotency_key or (yield from do(lambda: str(uuid.uuid4())))
    return (yield from calls.json(request_of(routes.SUBMIT, body=body, headers=headers), Submitted))


def create_schedule(calls: Calls, wanted: Submission, times: Mapping[str, str]) -> Operation[CreatedSchedule]:
    """Uploads, then creates the schedule. Its name is its key: the same again is that one."""
    body = yield from _body(calls, wanted)
    return (yield from calls.ask(routes.CREATE_SCHEDULE, CreatedSchedule, body={**body, **times}))


def _body(calls: Calls, wanted: Submission) -> Operation[Dict[str, object]]:
    files: Optional[Dict[str, str]] = (yield from upload(calls, wanted.files)) if wanted.files else None
    others = present(
        name=wanted.name,
        user=wanted.user,
        files=files,
        sshKey=wanted.ssh_key,
        identityKeys=wanted.identity_keys,
    )
    return {**wanted.file.keys(), **others}


def pages(calls: Calls, query: Query) -> Operation[None]:
    """Emits every Job that matches. A page is asked for when the one before it is used up."""
    token: Optional[str] = None
    while True:
        got = yield from calls.ask(routes.LIST, JobPage, query=(*query, ("pageToken", token)))
        for row in got.rows:
            yield Emit(row)
        if got.next_page_token is None:
            return
        if got.next_page_token == token:
            raise UnexpectedAnswer(f"GET /v1/jobs: the page behind {token!r} names itself as the next one")
        token = got.next_page_token


def wait(calls: Calls, job: str, timeout_s: Optional[float]) -> Operation[Outcome]:
    """Long polls until the outcome is there. Raises WaitTimeout, Invalid (the job was refused), Refused (it has none)."""
    began = yield from now()
    until = math.inf if timeout_s is None else began + timeout_s
    at = began
    while True:
        poll_ms = math.ceil(max(0.0, min(POLL_MS, (until - at) * 1000)))
        request = request_of(routes.WAIT, job, query=(("timeoutMs", poll_ms),))
        request = replace(request, read_timeout_s=poll_ms / 1000 + SLACK_S)
        waited = yield from calls.json(request, Waited)
        if waited.outcome is not None:
            return waited.outcome
        if waited.is_over:
            raise Refused(
                f"job {job} has ended without an outcome",
                status=200,
                code="refused",
                remedy=f"status({job!r}).why says why",
            )
        at = yield from now()
        if at >= until:
            raise WaitTimeout(f"job {job} has not ended after {timeout_s:g} s", remedy="it goes on; wait again")
