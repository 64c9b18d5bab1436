"""What people ask of a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from ..models import Cancelled, Deleted, Message
from .calls import Calls, present
from .effects import Operation, Request
from .jobs import job_path
from .uploads import Files, upload

Place = Sequence[Union[str, int]]
# "all", or numbers of slices from 0.
Replaced = Union[str, Sequence[int]]


@dataclass(frozen=True)
class Edit:
    """Of the job file for the attempts to come: the whole of it, or single values of the one in force."""

    job: Any = None
    source: Optional[str] = None
    # A path such as `command.run`, or its parts: ("slices", 0).
    set: Mapping[Union[str, Tuple[Union[str, int], ...]], Any] = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    identity_keys: Optional[Mapping[str, str]] = None


def cancel(calls: Calls, job: str, host_name: Optional[str]) -> Operation[Cancelled]:
    # Once cancelled, always cancelled.
    return calls.post(job_path(job, "/cancel"), _from(host_name), Cancelled, is_repeatable=True)


def stop(calls: Calls, job: str, release: bool, host_name: Optional[str]) -> Operation[Message]:
    body = {**_from(host_name), **({"release": True} if release else {})}
    return calls.post(job_path(job, "/stop"), body, Message, is_repeatable=False)


def go_on(
    calls: Calls, job: str, verb: str, edit: Edit, host_name: Optional[str], replace: Optional[Replaced] = None
) -> Operation[Message]:
    """`resume` or `restart`: a second restart would end the command again, so it is not repeated after doubt."""
    files = (yield from upload(calls, edit.files)) if edit.files else None
    changes: List[Mapping[str, Any]] = [{"path": _parts(path), "value": value} for path, value in edit.set.items()]
    keys = present(job=edit.job, source=edit.source, files=files, identityKeys=edit.identity_keys, set=changes or None)
    replaced = present(replace=replace if replace is None or isinstance(replace, str) else [*replace])
    body = {**_from(host_name), **keys, **replaced}
    return (yield from calls.post(job_path(job, f"/{verb}"), body, Message, is_repeatable=False))


def requeue(calls: Calls, job: str, zone: Optional[str], host_name: Optional[str]) -> Operation[Message]:
    body = {**_from(host_name), **present(zone=zone)}
    return calls.post(job_path(job, "/requeue"), body, Message, is_repeatable=False)


def set_up(
    calls: Calls, job: str, modules: Optional[Sequence[str]], force: bool, host_name: Optional[str]
) -> Operation[Message]:
    which = present(modules=None if modules is None else [*modules], force=True if force else None)
    body = {**_from(host_name), **which}
    return calls.post(job_path(job, "/setup"), body, Message, is_repeatable=False)


def priority(calls: Calls, job: str, number: int) -> Operation[Message]:
    return calls.post(job_path(job, "/priority"), {"priority": number}, Message, is_repeatable=True)


def delete(calls: Calls, job: str) -> Operation[Deleted]:
    return calls.json(Request("DELETE", job_path(job)), Deleted)


def _from(host_name: Optional[str]) -> Mapping[str, str]:
    return present(**{"from": host_name})


def _parts(path: Union[str, Tuple[Union[str, int], ...]]) -> List[Union[str, int]]:
    return [*path.split(".")] if isinstance(path, str) else [*path]
