"""The blocking client. `async_client.py` is written from this file: python3 python/write_async_client.py"""

from __future__ import annotations

import os
import socket
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Iterator, Literal, Mapping, Optional, Sequence, Tuple, Type, Union

import httpx

from . import job_files
from ._core import changes, jobs, logs, outputs, pools, routes
from ._core.address import server_address
from ._core.calls import Calls, Query, Retry, present
from ._core.decode import milliseconds
from ._core.effects import do
from ._core.uploads import Files
from ._transport.blocking import BlockingTransport, TokenSource
from .models import (
    AccessExplained,
    AccessRow,
    Admission,
    AuditLine,
    AuditLines,
    Cancelled,
    Capacity,
    CreatedSchedule,
    Deleted,
    Group,
    GroupDescription,
    GroupPage,
    HostAccess,
    Job,
    JobCounts,
    JobDescription,
    JobMetrics,
    LogEvent,
    Message,
    OpenSlices,
    Outcome,
    Overlap,
    Phase,
    QuotaPlan,
    Report,
    Schedule,
    ScheduleDescription,
    Schedules,
    SecretName,
    SecretNames,
    Submitted,
    Triggered,
    WhoAmI,
    Why,
)
from .outputs import Downloaded, Outputs
from .pool_state import PoolState

PathName = Union[str, "os.PathLike[str]"]
JobSource = Union[Mapping[str, Any], PathName]
Phases = Union[Phase, Sequence[Phase], None]
Setting = Mapping[Union[str, Tuple[Union[str, int], ...]], Any]


class Client:
    """
    Calls `jobctl serve`. Close it, or use it in `with`. Safe in threads.

    Every method raises ApiError (by kinds: `jobctl.errors`) for what the server refuses, ConnectionLost and UnexpectedAnswer.
    Calls that may be repeated are, after a failed connection, 429 and 503, as `retry` says; `submit` is one of them.

    url: of the server; absent: the variable JOBCTL_SERVER.
    token: an ID token, or a callable that returns one (`jobctl.auth`). Absent: for servers that verify nobody.
    host_name: of this computer, which is noted with a cancel, stop or restart. None: not told.
    http: a client of your own, for proxies and certificates; it stays yours to close.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: TokenSource = None,
        retry: Retry = Retry(),
        host_name: Optional[str] = socket.gethostname(),
        http: Optional[httpx.Client] = None,
    ) -> None:
        self._transport = BlockingTransport(server_address(url), token, http)
        self._calls = Calls(retry)
        self._host_name = host_name
        self._run = self._transport.run
        self._iterate = self._transport.iterate

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # Jobs ---------------------------------------------------------------------------------------------------------------

    def submit(
        self,
        job: JobSource,
        *,
        name: Optional[str] = None,
        user: Optional[str] = None,
        files: Optional[Files] = None,
        ssh_key: Optional[str] = None,
        identity_keys: Optional[Mapping[str, str]] = None,
        idempotency_key: Optional[str] = None,
    ) -> Submitted:
        """
        Starts one job, however often the connection fails: an idempotency key goes with it.

        job: a mapping, or the path of a job file (YAML or JSON).
        name: exactly the job's id, and its key: the same job under it again is not new, another one raises NameTaken.
        user: for whom, if the caller is a service that may submit for others.
        files: local files that the job names, by their path there: bytes, or a path here. Folders are not packed.
        idempotency_key: of the caller's own, so that a program that died submits the same job again; not with `name`.

        Raises Invalid with every problem of the job file, JobFileError, FileChanged; nothing was submitted then.
        """
        read = self._run(do(lambda: job_files.load(job)))
        submission = jobs.Submission(
            read,
            name=name,
            user=user,
            files=files or {},
            ssh_key=ssh_key,
            identity_keys=identity_keys,
            idempotency_key=idempotency_key,
        )
        return self._run(jobs.submit(self._calls, submission))

    def list(
        self,
        *,
        project: Optional[str] = None,
        user: Optional[str] = None,
        pool: Optional[str] = None,
        group: Optional[str] = None,
        phase: Phases = None,
        name: Optional[str] = None,
        since: Optional[datetime] = None,
        ended_since: Optional[datetime] = None,
        state: Optional[str] = None,
        ids: Optional[Sequence[str]] = None,
        page_size: int = 100,
    ) -> Iterator[Job]:
        """
        The jobs that match: open ones first, the newest of them first, then those that ended last. Pages are asked for as needed.

        name: an id or a job file's name, or a pattern with * and ?. group: members of this group.
        since: submitted or ended then or later. ended_since: open, or ended then or later.
        state: "open" or "ended". ids: these alone, 200 at most.
        """
        query = _filter(project, user, pool, group, phase, name, since, ended_since, state, ids)
        return self._iterate(jobs.pages(self._calls, (*query, ("limit", page_size))))

    def count(
        self,
        *,
        project: Optional[str] = None,
        user: Optional[str] = None,
        pool: Optional[str] = None,
        group: Optional[str] = None,
        phase: Phases = None,
        name: Optional[str] = None,
        since: Optional[datetime] = None,
        ended_since: Optional[datetime] = None,
        state: Optional[str] = None,
        ids: Optional[Sequence[str]] = None,
    ) -> JobCounts:
        """How many jobs match, as in `list`."""
        query = _filter(project, user, pool, group, phase, name, since, ended_since, state, ids)
        return self._run(self._calls.ask(routes.COUNT, JobCounts, query=query))

    def status(self, job: str) -> Job:
        """The job's row. Needs no worker."""
        return self._run(self._calls.ask(routes.STATUS, Job, job))

    def describe(self, job: str) -> JobDescription:
        """Everything that the job's workflow knows. Raises Unavailable if no worker answers."""
        return self._run(self._calls.ask(routes.DESCRIBE, JobDescription, job))

    def why(self, job: str) -> Why:
        """What the job waits for, or why it ended."""
        return self._run(self._calls.ask(routes.WHY, Why, job))

    def wait(self, job: str, timeout: Optional[float] = None) -> Outcome:
        """
        Waits for the outcome, for ever or for `timeout` seconds. A job that failed has an outcome too: look at `result`.

        Raises WaitTimeout; Invalid if a worker refused the job; Refused if it has none, as when its workflow was terminated.
        """
        return self._run(jobs.wait(self._calls, job, timeout))

    def open_slices(self, job: str) -> Tuple[str, ...]:
        """Names of its slices that are not deleted yet."""
        answer = self._run(self._calls.ask(routes.OPEN_SLICES, OpenSlices, job))
        return answer.names

    def host_access(self, job: str) -> HostAccess:
        """
        What logs in to the job's hosts: its own private key, their addresses and host keys. For its user and operators; each call
        is in the audit log. Raises Refused, with what to do, if no key of the job logs in, as to pods.
        """
        return self._run(self._calls.ask(routes.HOST_ACCESS, HostAccess, job))

    # Logs and outputs ---------------------------------------------------------------------------------------------------

    def logs(
        self, job: str, *, attempt: Optional[int] = None, stream: str = "command", host: Optional[int] = None
    ) -> str:
        """
        What is stored of the output. Bytes that are no UTF-8 are replaced.

        attempt: None means all. stream: `command`, or a set-up module.
        host: that one's output as it is. None means all, in the order of storing, with `HOST | ` before each line.
        """
        request = logs.log_request(job, attempt, stream, host, follow=False)
        return self._run(logs.log_text(self._calls, request))

    def log_bytes(
        self, job: str, *, attempt: Optional[int] = None, stream: str = "command", host: Optional[int] = None
    ) -> bytes:
        """As `logs`, byte for byte."""
        request = logs.log_request(job, attempt, stream, host, follow=False)
        return self._run(logs.log_bytes(self._calls, request))

    def follow_logs(
        self, job: str, *, attempt: Optional[int] = None, stream: str = "command", host: Optional[int] = None
    ) -> Iterator[LogEvent]:
        """
        The output from its beginning, as it is stored, until the job has ended: stretches of bytes of one host each, and the end
        of each attempt. A connection that is cut is made again; nothing is lost, and nothing comes twice.

        Raises ConnectionLost if nothing new came for as long as `retry` says after a failure.
        """
        request = logs.log_request(job, attempt, stream, host, follow=True)
        return self._iterate(logs.follow(self._calls, request))

    def metrics(
        self,
        job: str,
        *,
        names: Optional[Sequence[str]] = None,
        host: int = 0,
        x: Literal["step", "time"] = "step",
        points: int = 500,
    ) -> JobMetrics:
        """
        Metrics that the program told on one host, over all attempts.

        names: None means all. x: the order of the points; by step, each step comes once.
        points: the most of a metric, evenly chosen. 0 means only the last, the least and the greatest value.
        """
        query: Query = (("name", ",".join(names) if names else None), ("host", host), ("x", x), ("points", points))
        return self._run(self._calls.ask(routes.METRICS, JobMetrics, job, query=query))

    def outputs(self, job: str, *, attempt: Optional[int] = None, hosts: Optional[Sequence[int]] = None) -> Outputs:
        """What the hosts stored of the job's output files: of the newest attempt that stored anything, or of `attempt`."""
        return self._run(outputs.outputs(self._calls, job, (attempt, hosts)))

    def download(
        self,
        job: str,
        folder: Optional[PathName] = None,
        *,
        attempt: Optional[int] = None,
        hosts: Optional[Sequence[int]] = None,
    ) -> Downloaded:
        """
        Brings the outputs here, verified by their hash; of several hosts each into its own folder `host-N`. Called again after a
        failure, it goes on where it was. `folder` is the job's id if not given.

        Raises NotFound if nothing is stored; DownloadFailed naming each file that is wrong, after all others were brought.
        """
        place = Path(job if folder is None else folder)
        return self._run(outputs.download(self._calls, job, place, (attempt, hosts)))

    # What people ask of a job -------------------------------------------------------------------------------------------

    def cancel(self, job: str) -> Cancelled:
        """Stops the command with its grace and gives the slices back. Returns at once; `done`: it had ended."""
        return self._run(self._calls.ask(routes.CANCEL, Cancelled, job, body=self._asked()))

    # Groups -------------------------------------------------------------------------------------------------------------

    def list_groups(
        self,
        *,
        project: Optional[str] = None,
        user: Optional[str] = None,
        pool: Optional[str] = None,
        group: Optional[str] = None,
        name: Optional[str] = None,
        since: Optional[datetime] = None,
        ended_since: Optional[datetime] = None,
        limit: int = 100,
    ) -> Tuple[Group, ...]:
        """
        The groups that match: open ones first, the newest of them first, then those that ended last. At most `limit`, up to 1,000.

        group: this one alone. name: an id or a job file's name, or a pattern with * and ?.
        since: submitted or ended then or later. ended_since: open, or ended then or later.
        """
        query = _filter(project, user, pool, group, None, name, since, ended_since, None, None)
        page = self._run(self._calls.ask(routes.LIST_GROUPS, GroupPage, query=(*query, ("limit", limit))))
        return page.rows

    def group(self, group: str) -> Group:
        """The jobs of one array: who submitted them, and whether any is open."""
        return self._run(self._calls.ask(routes.GROUP, Group, group))

    def describe_group(self, group: str) -> GroupDescription:
        """The array, and how each member is."""
        return self._run(self._calls.ask(routes.DESCRIBE_GROUP, GroupDescription, group))

    def cancel_group(self, group: str) -> Cancelled:
        """Cancels all members; those that have not begun never do. Returns at once; `done`: all had ended."""
        return self._run(self._calls.ask(routes.CANCEL_GROUP, Cancelled, group, body=self._asked()))

    def retry_group(self, group: str) -> Message:
        """Runs the failed members again, as jobs of their own."""
        return self._run(self._calls.ask(routes.RETRY_GROUP, Message, group, body=self._asked()))

    def begin_group(self, group: str) -> Message:
        """A group that waits for others (`after`) begins without them."""
        return self._run(self._calls.ask(routes.BEGIN_GROUP, Message, group, body=self._asked()))

    def stop_group(self, group: str, *, release: bool = False) -> Message:
        """Stops the open members, and lets no other begin until `resume_group`. `release`: slices and leases go back too."""
        return self._run(self._calls.ask(routes.STOP_GROUP, Message, group, body=self._asked(release=release or None)))

    def resume_group(self, group: str) -> Message:
        """Lets a stopped group go on, and its stopped members."""
        return self._run(self._calls.ask(routes.RESUME_GROUP, Message, group, body=self._asked()))

    def group_priority(self, group: str, priority: int) -> Message:
        """Gives the members that wait in the pool, or hold a lease of it, another priority: 1 (first) to 5."""
        return self._run(self._calls.ask(routes.GROUP_PRIORITY, Message, group, body={"priority": priority}))

    # Schedules ----------------------------------------------------------------------------------------------------------

    def create_schedule(
        self,
        name: str,
        job: JobSource,
        *,
        cron: str,
        time_zone: str = "UTC",
        overlap: Overlap = "skip",
        user: Optional[str] = None,
        files: Optional[Files] = None,
        ssh_key: Optional[str] = None,
        identity_keys: Optional[Mapping[str, str]] = None,
    ) -> CreatedSchedule:
        """
        Has the server start a job at the times of a cron, as it is now. The same again under its name is not new, another one raises
        NameTaken.

        cron: minute, hour, day of the month, month, day of the week. time_zone: whose clock counts.
        overlap: what becomes of a firing if the job of the one before has not ended. The others are as of `submit`.
        """
        read = self._run(do(lambda: job_files.load(job)))
        submission = jobs.Submission(
            read, name=name, user=user, files=files or {}, ssh_key=ssh_key, identity_keys=identity_keys
        )
        times = {"cron": cron, "timeZone": time_zone, "overlap": overlap}
        return self._run(jobs.create_schedule(self._calls, submission, times))

    def schedules(self) -> Tuple[Schedule, ...]:
        """All schedules, by name."""
        answer = self._run(self._calls.ask(routes.SCHEDULES, Schedules))
        return answer.schedules

    def schedule(self, name: str) -> ScheduleDescription:
        """A schedule, its next times and its last firings."""
        return self._run(self._calls.ask(routes.SCHEDULE, ScheduleDescription, name))

    def pause_schedule(self, name: str, *, reason: Optional[str] = None) -> Message:
        """Starts no job until `resume_schedule`."""
        return self._run(self._calls.ask(routes.PAUSE_SCHEDULE, Message, name, body=present(reason=reason)))

    def resume_schedule(self, name: str) -> Message:
        """A paused schedule goes on, from its next time."""
        return self._run(self._calls.ask(routes.RESUME_SCHEDULE, Message, name))

    def trigger_schedule(self, name: str) -> Triggered:
        """Starts its job now, under its overlap policy. Raises Refused if that does not let it."""
        return self._run(self._calls.ask(routes.TRIGGER_SCHEDULE, Triggered, name))

    def delete_schedule(self, name: str) -> Message:
        """Ends a schedule. Jobs that it has started go on."""
        return self._run(self._calls.ask(routes.DELETE_SCHEDULE, Message, name))

    # --------------------------------------------------------------------------------------------------------------------

    def stop(self, job: str, *, release: bool = False) -> Message:
        """Ends the command and keeps the slices, or gives them back (`release`), until `resume`."""
        return self._run(self._calls.ask(routes.STOP, Message, job, body=self._asked(release=release or None)))

    def resume(
        self,
        job: str,
        *,
        edit: Optional[JobSource] = None,
        set: Optional[Setting] = None,
        files: Optional[Files] = None,
        identity_keys: Optional[Mapping[str, str]] = None,
    ) -> Message:
        """A stopped job goes on. `edit`: another job file; `set`: values by their place in the one in force (`command.run`)."""
        change = self._run(do(lambda: _edit(edit, set, files, identity_keys)))
        return self._run(changes.go_on(self._calls, routes.RESUME, job, change, self._asked()))

    def restart(
        self,
        job: str,
        *,
        edit: Optional[JobSource] = None,
        set: Optional[Setting] = None,
        files: Optional[Files] = None,
        identity_keys: Optional[Mapping[str, str]] = None,
        replace: Optional[changes.Replaced] = None,
    ) -> Message:
        """
        The command ends and begins again on the same slices. `edit` and `set` as of `resume`. `replace`: "all", or numbers of slices from
        0, in place of which other machines are asked for.
        """
        change = self._run(do(lambda: _edit(edit, set, files, identity_keys)))
        replaced = replace if replace is None or isinstance(replace, str) else [*replace]
        return self._run(changes.go_on(self._calls, routes.RESTART, job, change, self._asked(replace=replaced)))

    def requeue(self, job: str, *, zone: Optional[str] = None) -> Message:
        """Slices and lease go back, and the job asks for them again, with its first submit time. `zone`: that one of its zones first."""
        return self._run(self._calls.ask(routes.REQUEUE, Message, job, body=self._asked(zone=zone)))

    def setup(self, job: str, *, modules: Optional[Sequence[str]] = None, force: bool = False) -> Message:
        """Makes modules ready once more on the hosts that it holds; None: all of them. `force`: unchanged ones too."""
        which = None if modules is None else [*modules]
        body = self._asked(modules=which, force=force or None)
        return self._run(self._calls.ask(routes.SET_UP, Message, job, body=body))

    def priority(self, job: str, priority: int) -> Message:
        """1 is first, 5 last."""
        return self._run(self._calls.ask(routes.PRIORITY, Message, job, body={"priority": priority}))

    def delete(self, job: str) -> Deleted:
        """Deletes what is stored of a job that has ended: logs, outputs, its file."""
        return self._run(self._calls.ask(routes.DELETE, Deleted, job))

    # Pools --------------------------------------------------------------------------------------------------------------

    def quota_show(self, pool: str = "default") -> PoolState:
        """Who holds what of a pool, and who waits."""
        return self._run(pools.show(self._calls, pool))

    def capacity(self, pool: str = "default") -> Capacity:
        """What the pool's jobs have seen of zones and types lately: asked, got, waited, preempted. It is no promise."""
        return self._run(self._calls.ask(routes.CAPACITY, Capacity, pool))

    def report(
        self,
        by: Literal["project", "user", "pool", "accelerator", "zone", "day"] = "project",
        *,
        since: Optional[datetime] = None,
        project: Optional[str] = None,
        user: Optional[str] = None,
        pool: Optional[str] = None,
    ) -> Report:
        """What ended jobs used, cost and got done: of the last 30 days, or since then, of the jobs that you may read."""
        query: Query = (("by", by), ("since", _time(since)), ("project", project), ("user", user), ("pool", pool))
        return self._run(self._calls.ask(routes.REPORT, Report, query=query))

    def quota_plan(
        self,
        pool: str = "default",
        *,
        quota_file: Optional[PathName] = None,
        pool_file: Optional[PathName] = None,
    ) -> QuotaPlan:
        """
        What one decision would do under these files, or those in force if none is named. It changes nothing.

        pool_file: beside quota_file; absent: the rules in force. Raises Invalid with every problem of the files.
        """
        asked = pools.with_files(self._calls, routes.QUOTA_PLAN, QuotaPlan, pool, quota_file, pool_file)
        return self._run(asked)

    def quota_apply(
        self,
        pool: str = "default",
        *,
        quota_file: Optional[PathName] = None,
        pool_file: Optional[PathName] = None,
        replaces: Optional[str] = None,
        pool_file_replaces: Optional[str] = None,
    ) -> Message:
        """Puts files in force. Raises Invalid with every problem; the files in force stay then.

        `replaces` is the generation of the quota file that yours was made from, or "none": Refused if another one is
        in force by now, with who applied it. Without it whatever is in force is replaced.
        """
        asked = pools.with_files(
            self._calls, routes.QUOTA_APPLY, Message, pool, quota_file, pool_file, replaces, pool_file_replaces
        )
        return self._run(asked)

    def admission(self, pool: str = "default", *, state: Admission, reason: Optional[str] = None) -> Message:
        """`frozen`: nothing is granted; `draining`: running jobs end, no other begins; `open`."""
        body = present(admission=state, reason=reason)
        return self._run(self._calls.ask(routes.ADMISSION, Message, pool, body=body))

    def quota_release(self, job: str, *, because: str, pool: str = "default") -> Message:
        """Stops waiting for slices whose deletion does not end: you vouch that nothing of them is left."""
        body = {"job": job, "because": because}
        return self._run(self._calls.ask(routes.QUOTA_RELEASE, Message, pool, body=body))

    # Who and what -------------------------------------------------------------------------------------------------------

    def secret_names(self, project: str, *, pool: str = "default") -> Tuple[SecretName, ...]:
        """Of a project; never a value."""
        query: Query = (("project", project), ("pool", pool))
        answer = self._run(self._calls.ask(routes.SECRET_NAMES, SecretNames, query=query))
        return answer.secrets

    def whoami(self) -> WhoAmI:
        """Whom the server takes the token for."""
        return self._run(self._calls.ask(routes.WHOAMI, WhoAmI))

    def access_explain(
        self,
        *,
        verb: Optional[str] = None,
        user: Optional[str] = None,
        job: Optional[str] = None,
        project: Optional[str] = None,
        pool: str = "default",
    ) -> Tuple[AccessRow, ...]:
        """Whether the caller may do each verb, and why. `user`: another one; for operators."""
        query: Query = (("verb", verb), ("user", user), ("job", job), ("project", project), ("pool", pool))
        answer = self._run(self._calls.ask(routes.ACCESS_EXPLAIN, AccessExplained, query=query))
        return answer.rows

    def audit(
        self,
        *,
        user: Optional[str] = None,
        job: Optional[str] = None,
        since: Optional[datetime] = None,
        limit: int = 1000,
        pool: str = "default",
    ) -> Tuple[AuditLine, ...]:
        """Lines of the audit log: of the last day, or since then. For operators of the pool."""
        query: Query = (("user", user), ("job", job), ("since", _time(since)), ("limit", limit), ("pool", pool))
        answer = self._run(self._calls.ask(routes.AUDIT, AuditLines, query=query))
        return answer.lines

    def _asked(self, **keys: Any) -> Mapping[str, Any]:
        """What a person asks of a job: the keys that are not None, and from where."""
        return present(**{"from": self._host_name}, **keys)


def _filter(
    project: Optional[str],
    user: Optional[str],
    pool: Optional[str],
    group: Optional[str],
    phase: Phases,
    name: Optional[str],
    since: Optional[datetime],
    ended_since: Optional[datetime],
    state: Optional[str],
    ids: Optional[Sequence[str]],
) -> Query:
    phases = phase if phase is None or isinstance(phase, str) else ",".join(phase)
    return (
        ("project", project),
        ("user", user),
        ("pool", pool),
        ("group", group),
        ("phase", phases),
        ("name", name),
        ("since", _time(since)),
        ("endedSince", _time(ended_since)),
        ("state", state),
        ("ids", None if ids is None else ",".join(ids)),
    )


def _time(time: Optional[datetime]) -> Optional[int]:
    return None if time is None else milliseconds(time)


def _edit(
    edit: Optional[JobSource],
    values: Optional[Setting],
    files: Optional[Files],
    identity_keys: Optional[Mapping[str, str]],
) -> changes.Edit:
    read = None if edit is None else job_files.load(edit)
    return changes.Edit(read, values or {}, files or {}, identity_keys)
