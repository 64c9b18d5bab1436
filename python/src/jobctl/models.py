"""
What the server answers. Fields are the keys of the HTTP interface in snake case; times are `datetime` in UTC.

`raw` of some holds the whole JSON object, with keys that this version does not name.
"""

# Without `from __future__ import annotations`: the decoder reads these types on Python 3.9.
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Tuple, Union

Phase = Literal[
    "queued",
    "provisioning",
    "setting-up",
    "running",
    "evicting",
    "paused",
    "released",
    "holding",
    "finishing",
    "succeeded",
    "failed",
    "cancelled",
    "terminated",
]
Admission = Literal["open", "frozen", "draining"]
Json = Mapping[str, Any]


@dataclass(frozen=True)
class Submitted:
    id: str
    # False: the very same job was submitted before.
    is_new: bool
    # The job file with defaults and checks done.
    spec: Json
    # Of an array, whose group has the id: the number of its jobs.
    members: Optional[int] = None
    # Sentences for people.
    warnings: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class OutcomeCause:
    by: Literal["task", "infrastructure", "preemption", "user"]
    message: str
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    result: Literal["succeeded", "failed", "cancelled"]
    attempts: int
    # By the provider.
    preemptions: int
    submitted_at: datetime
    ended_at: datetime
    started_at: Optional[datetime] = None
    # Of the host that failed first, else 0.
    exit_code: Optional[int] = None
    cause: Optional[OutcomeCause] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Job:
    """A row of `list`, and the answer of `status`."""

    id: str
    project: str
    user: str
    # `v5litepod-16`, or `2 x v5litepod-16`.
    slice: str
    pool: str
    phase: Phase
    phase_since: datetime
    submitted_at: datetime
    attempts: int
    ended_at: Optional[datetime] = None
    chips: Optional[int] = None
    # Whether a server has verified who the user is. None: no worker has taken the job.
    is_verified: Optional[bool] = None
    # One sentence: what the job waits for or ended with.
    why: Optional[str] = None
    # REHEARSAL if nothing of it is real.
    label: Optional[str] = None
    outcome: Optional[Outcome] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class JobPage:
    rows: Tuple[Job, ...]
    # All that match.
    total: int
    open: int
    next_page_token: Optional[str] = None


@dataclass(frozen=True)
class JobCounts:
    total: int
    open: int
    # Those that have ended, by phase.
    ended: Mapping[str, int]


@dataclass(frozen=True)
class JobEvent:
    at: datetime
    # One sentence, for people.
    text: str
    # Such as "preempted"; treat an unknown word as "something else". None: a worker without kinds told it.
    kind: Optional[str] = None
    # By kind.
    facts: Optional[Json] = None
    # The phase that it begins, or whose reason changes.
    phase: Optional[Phase] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class JobDescription:
    """Everything that the job's workflow knows; `raw` has all of it."""

    id: str
    phase: Phase
    attempt: int
    slices: Tuple[Json, ...]
    events: Tuple[JobEvent, ...]
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Waited:
    is_over: bool
    outcome: Optional[Outcome] = None


@dataclass(frozen=True)
class Why:
    phase: Phase
    # One sentence: what the job waits for or ended with.
    why: Optional[str] = None
    # Of a job that waits for its pool: its place in line, who is before it, what it lacks.
    waiting: Optional[Json] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class MetricPoint:
    step: int
    time: datetime
    # None: NaN, or infinite.
    value: Optional[float]


@dataclass(frozen=True)
class MetricPoints:
    """Columns of one length."""

    step: Tuple[int, ...]
    time: Tuple[datetime, ...]
    value: Tuple[Optional[float], ...]


@dataclass(frozen=True)
class JobMetric:
    name: str
    # Values that were told, in all attempts.
    count: int
    # The points are some of the values, evenly chosen.
    is_thinned: bool
    # Values with a smaller step than the value before.
    falls: int
    last: MetricPoint
    points: MetricPoints
    # Exact, over all finite values whose steps no later attempt told again.
    least: Optional[MetricPoint] = None
    most: Optional[MetricPoint] = None


@dataclass(frozen=True)
class JobMetrics:
    """What the job's program told on one host."""

    host: int
    # That told metrics, in order: the last 50.
    attempts: Tuple[int, ...]
    metrics: Tuple[JobMetric, ...]
    # Values without a usable name or number, and lines that were not read.
    refused: int
    # Values of metrics beyond the first hundred of an attempt.
    beyond_names: int
    # Bytes of output that nobody looked through, after the death of a worker.
    missed_bytes: int


@dataclass(frozen=True)
class Message:
    # What will be done, in a sentence.
    message: str


@dataclass(frozen=True)
class Group:
    """The jobs of one array."""

    id: str
    name: str
    user: str
    project: str
    pool: str
    members: int
    submitted_at: datetime
    # None: members wait or are open.
    ended_at: Optional[datetime] = None
    # Members by their state, as in {"open": 3, "waiting": 9}. None: no worker has taken the group yet.
    counts: Optional[Mapping[str, int]] = None
    # Others that it waits for before it starts a member.
    awaited: Optional[str] = None
    # The person who stopped it: no member begins.
    stopped: Optional[str] = None
    # It left no state. None: it is open, or ended by itself.
    end: Optional[Literal["terminated", "refused"]] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class GroupPage:
    rows: Tuple[Group, ...]


@dataclass(frozen=True)
class GroupDescription:
    """The array of a group, and one letter for the state of each place of its matrix (docs/contract.md)."""

    group: str
    array: Json
    state: Json
    notes: Tuple[Any, ...]
    awaited: Optional[str] = None
    # The person who stopped it, and since when: no member begins.
    stopped: Optional[Json] = None
    # How far the last `stop` or `resume` is: `verb`, `left`, `done`, `idle`, `failed`.
    stop_round: Optional[Json] = None
    # True: no worker answered, and members that lists do not know count as waiting.
    is_from_lists: Optional[bool] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


Overlap = Literal["skip", "queue", "cancel", "allow"]


@dataclass(frozen=True)
class CreatedSchedule:
    name: str
    # False: the very same schedule was there before.
    is_new: bool
    # Its next times, five at most.
    next: Tuple[datetime, ...]
    # The job file with defaults and checks done.
    spec: Json
    # Sentences for people.
    warnings: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class Firing:
    """One time of a schedule."""

    # Id of its job, also if that was not started.
    job: str
    at: datetime
    # `starting`, `open`, how the job ended, `skipped`, `not-started` or `unknown`.
    state: str
    # Of a job that is open.
    phase: Optional[Phase] = None
    # Why no job was started, or why a worker refused it.
    why: Optional[str] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Schedule:
    name: str
    cron: str
    time_zone: str
    overlap: Overlap
    user: str
    project: str
    pool: str
    slice: str
    created_at: datetime
    is_paused: bool
    # Its next times, five at most; also of one that is paused.
    next: Tuple[datetime, ...]
    # Members of the group that each time starts. None: each time starts one job.
    members: Optional[int] = None
    # Who paused or resumed it, and why.
    note: Optional[str] = None
    # None: it has not fired yet, or that is forgotten.
    last: Optional[Firing] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Schedules:
    schedules: Tuple[Schedule, ...]


@dataclass(frozen=True)
class ScheduleDescription:
    name: str
    cron: str
    time_zone: str
    overlap: Overlap
    user: str
    project: str
    pool: str
    slice: str
    created_at: datetime
    is_paused: bool
    next: Tuple[datetime, ...]
    # The last ones, latest first.
    firings: Tuple[Firing, ...]
    # Firings since it was created.
    fired: int
    # Those that did not start because the job before had not ended.
    overlapped: int
    # Those that start when the job before has ended.
    waiting: int
    # Those that were never made up for, because no server was there.
    missed: int
    members: Optional[int] = None
    note: Optional[str] = None
    last: Optional[Firing] = None
    raw: Json = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class Triggered:
    message: str
    # The job that it has started. None: none yet.
    job: Optional[str] = None


@dataclass(frozen=True)
class Cancelled:
    state: Literal["cancelling", "done"]


@dataclass(frozen=True)
class Deleted:
    message: str
    objects: int
    bytes: int


@dataclass(frozen=True)
class OpenSlices:
    names: Tuple[str, ...]
    # The same slices, each with how its deletion stands: `slice`, and as far as it is known `since` and `answer`.
    deletions: Optional[Tuple[Json, ...]] = None


@dataclass(frozen=True)
class AccessHost:
    """A host of a job, as one logs in to it."""

    # As logs name it.
    number: int
    node: str
    slice: int
    # In its slice.
    index: int
    # The external one, if the host has one.
    address: str
    # `ssh-ed25519 AAAA..`: accept no other one.
    host_key: str
    internal_address: Optional[str] = None


@dataclass(frozen=True)
class HostAccess:
    """What logs in to the hosts of one job and of no other."""

    # Whom every host lets in.
    user: str
    # In OpenSSH's form. Keep it in memory.
    private_key: str = field(repr=False)
    public_key: str
    hosts: Tuple[AccessHost, ...]


@dataclass(frozen=True)
class LogStretch:
    """Some of one host's output, right behind what came before of that host and attempt."""

    attempt: int
    # Position among all hosts of all slices, from 0.
    host: int
    # Of the first byte, in this host's output of the attempt.
    offset: int
    # When it was stored: the only time that a line has.
    stored_at: datetime
    data: bytes = field(metadata={"key": "bytes"})
    # Words of jobctl's: the host printed more, or may have, and it is lost.
    is_lost_tail: bool = False


@dataclass(frozen=True)
class AttemptEnd:
    """The output of this attempt is complete."""

    attempt: int


LogEvent = Union[LogStretch, AttemptEnd]


@dataclass(frozen=True)
class StoredObject:
    name: str
    size: int
    generation: str
    updated_at: datetime


@dataclass(frozen=True)
class Objects:
    objects: Tuple[StoredObject, ...]


@dataclass(frozen=True)
class UploadTarget:
    path: str
    object: str
    state: Literal["exists", "wanted"]
    # Of a large file, which goes to the store itself; `upload` then names it to the server.
    url: Optional[str] = None
    upload: Optional[str] = None


@dataclass(frozen=True)
class Uploads:
    files: Tuple[UploadTarget, ...]


@dataclass(frozen=True)
class PlannedGrant:
    id: str
    # 0: the best.
    tier: int


@dataclass(frozen=True)
class PlannedPreemption:
    id: str
    # Which of the waiting jobs would have its chips.
    beneficiary: str = field(metadata={"key": "for"})


@dataclass(frozen=True)
class PlannedWait:
    id: str
    # 1: served first.
    position: int
    # Each in one sentence.
    reasons: Tuple[str, ...]
    # The same, for programs.
    details: Tuple[Json, ...]


@dataclass(frozen=True)
class QuotaPlan:
    """What one decision would do."""

    grants: Tuple[PlannedGrant, ...]
    # Of running jobs.
    preemptions: Tuple[PlannedPreemption, ...]
    # Who would go on waiting, in the order of service.
    waiting: Tuple[PlannedWait, ...]
    # Of the files: what is taken, and likely not meant.
    warnings: Optional[Tuple[str, ...]] = None


@dataclass(frozen=True)
class LastGot:
    at: datetime
    waited_ms: int


@dataclass(frozen=True)
class LastRefusal:
    at: datetime
    # The provider's.
    text: str


@dataclass(frozen=True)
class CapacityRow:
    """What a pool's jobs have seen of one type, bought one way, in one zone. It is no promise."""

    zone: str
    accelerator: str
    pricing: Literal["spot", "ondemand", "preemptible", "reserved", "flex-start"]
    # Requests for a whole gang: the last 20 of the last 7 days, and those that wait now.
    asked: int
    got: int
    waiting: int
    # Lately: what is a day old counts half.
    slice_hours: float
    # By the provider, in these slice-hours.
    preempted: float
    seen_at: datetime
    # From the request to all slices ready.
    median_wait_ms: Optional[int] = None
    last_got: Optional[LastGot] = None
    # Since when the first of those that wait does.
    waiting_since: Optional[datetime] = None
    refusal: Optional[LastRefusal] = None


@dataclass(frozen=True)
class Capacity:
    pool: str
    at: datetime
    # All that the pool file names.
    zones: Tuple[str, ...]
    rows: Tuple[CapacityRow, ...]


@dataclass(frozen=True)
class ChipSeconds:
    """Where the chip-time of leases went. Each chip-second is in one of them."""

    # The lease is held, and the chip is not there.
    waiting: float
    set_up: float
    useful: float
    # The command ran, and a later attempt did this work again.
    lost: float
    restart: float
    idle: float
    # Its slice was lost or told to end, and is not seen gone.
    draining: float


@dataclass(frozen=True)
class ReportRow:
    """Sums over the jobs of one group, in chip-seconds; hosts of jobs without accelerators are apart."""

    key: str
    unit: Literal["chip", "host"]
    jobs: int
    # Of these, jobs that have not ended.
    open: int
    preemptions: int
    # Chips or hosts that these jobs asked for, each job once.
    asked: int
    # Of these, jobs that ended before their command ever ran.
    unstarted: int
    parts: ChipSeconds
    # What costs money.
    charged: float
    # Of that, what has no known price: it is in no sum of dollars.
    unpriced: float
    # Of that, what is of jobs whose lost work is not known.
    lost_unknown: float
    # None: nothing has a known price.
    usd: Optional[float] = None


@dataclass(frozen=True)
class Report:
    rows: Tuple[ReportRow, ...]
    # Jobs that used nothing real.
    rehearsed: int
    # Jobs of which slices are not seen gone.
    leaving: int
    # Where the prices are from, and of which day.
    prices: Tuple[str, ...]
    # Lines that could not be read.
    unreadable: int
    # Jobs that the caller may not count.
    hidden: int


@dataclass(frozen=True)
class WhoAmI:
    kind: Literal["user", "service"]
    id: str
    groups: Tuple[str, ...]
    issuer: str
    expires_at: datetime


@dataclass(frozen=True)
class AccessRow:
    verb: str
    is_allowed: bool
    # The role that it is allowed for.
    role: Optional[str] = field(default=None, metadata={"key": "as"})
    why: Optional[str] = None


@dataclass(frozen=True)
class AccessExplained:
    rows: Tuple[AccessRow, ...]


@dataclass(frozen=True)
class SecretName:
    name: str
    fingerprint: str
    put_at: datetime


@dataclass(frozen=True)
class SecretNames:
    secrets: Tuple[SecretName, ...]


@dataclass(frozen=True)
class AuditLine:
    at: datetime
    request_id: str
    replica: str
    # Verified.
    subject: str
    kind: Literal["user", "service"]
    # Address that the call came from.
    address: str = field(metadata={"key": "from"})
    verb: str
    decision: Literal["allowed", "refused"]
    pool: Optional[str] = None
    project: Optional[str] = None
    job: Optional[str] = None
    owner: Optional[str] = None
    role: Optional[str] = field(default=None, metadata={"key": "as"})
    why: Optional[str] = None
    input_sha256: Optional[str] = None


@dataclass(frozen=True)
class AuditLines:
    lines: Tuple[AuditLine, ...]
    read_from: Optional[int] = None


@dataclass(frozen=True)
class Problem:
    """`application/problem+json` (RFC 9457): what `jobctl.errors.ApiError` is made of."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    remedy: Optional[str] = None
