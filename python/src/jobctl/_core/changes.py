"""Edits of a job's file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple, Union

from ..job_files import JobFile
from ..models import Message
from .calls import Calls, present
from .effects import Operation
from .routes import Route
from .uploads import Files, upload

# "all", or numbers of slices from 0.
Replaced = Union[str, Sequence[int]]


@dataclass(frozen=True)
class Edit:
    """Of the job file for the attempts to come: the whole of it, or single values of the one in force."""

    file: Optional[JobFile] = None
    # A path such as `command.run`, or its parts: ("slices", 0).
    set: Mapping[Union[str, Tuple[Union[str, int], ...]], Any] = field(default_factory=dict)
    files: Files = field(default_factory=dict)
    identity_keys: Optional[Mapping[str, str]] = None


def go_on(calls: Calls, route: Route, job: str, edit: Edit, others: Mapping[str, Any]) -> Operation[Message]:
    """`resume` or `restart`: a second restart would end the command again, so it is not repeated after doubt."""
    files = (yield from upload(calls, edit.files)) if edit.files else None
    changes: List[Mapping[str, Any]] = [{"path": _parts(path), "value": value} for path, value in edit.set.items()]
    keys = present(files=files, identityKeys=edit.identity_keys, set=changes or None)
    file = {} if edit.file is None else edit.file.keys()
    return (yield from calls.ask(route, Message, job, body={**others, **file, **keys}))


def _parts(path: Union[str, Tuple[Union[str, int], ...]]) -> List[Union[str, int]]:
    return [*path.split(".")] if isinstance(path, str) else [*path]
