"""Job files, which the server reads: YAML or JSON, with `${oc.env:NAME}` from this process's environment."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from .errors import JobFileError

PathName = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class JobFile:
    # As JSON has it, or None if `text` is the job.
    job: Any = None
    # Of the file, for messages.
    name: str = ""
    text: str = ""
    # The variables that the job names, as far as they are set.
    env: Mapping[str, str] = field(default_factory=dict)

    def keys(self) -> Mapping[str, Any]:
        """Of a submission or an edit."""
        job = {"file": {"name": self.name, "text": self.text}} if self.job is None else {"job": self.job}
        return {**job, **({"env": self.env} if self.env else {})}


def load(job: Union[Mapping[str, Any], PathName], env: Optional[Mapping[str, str]] = None) -> JobFile:
    """A mapping is the job itself; a text or path names a file. Raises JobFileError."""
    here = os.environ if env is None else env
    if isinstance(job, (str, os.PathLike)):
        text = _read(Path(job))
        return JobFile(None, str(job), text, _named(text, here))
    if not isinstance(job, Mapping):
        raise JobFileError(f"a job is a mapping, or the path of a job file, and not a {type(job).__name__}")
    plain = _plain(job, "job")
    return JobFile(plain, env=_named(json.dumps(plain, ensure_ascii=False), here))


def _read(place: Path) -> str:
    try:
        return place.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise JobFileError(f"{place}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise JobFileError(f"{place}: is not UTF-8 text") from None


def _named(text: str, env: Mapping[str, str]) -> Mapping[str, str]:
    names = re.findall(r"\{oc\.env:(\w+)", text, re.ASCII)
    return {name: env[name] for name in sorted({*names}) if name in env}


def _plain(value: Any, where: str) -> Any:
    """As JSON has it. Raises JobFileError for what JSON has not."""
    if isinstance(value, Mapping):
        wrong = next((key for key in value if not isinstance(key, str)), None)
        if wrong is not None:
            raise JobFileError(f"{where}: the key {wrong!r} is no text")
        return {key: _plain(one, f"{where}.{key}") for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one, f"{where}[{at}]") for at, one in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and value - value == 0):
        return value
    raise JobFileError(f"{where}: {value!r} is no JSON value")
