"""
Job files as `jobctl submit` reads them: YAML 1.2 with merge keys, and `${oc.env:NAME}` from this process's environment.

YAML needs `jobctl[yaml]` (PyYAML, whose own YAML 1.1 would read `on`, `1:30` and `010` as other values). JSON needs nothing.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping, Optional, Union

from .errors import JobFileError

PathName = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class JobFile:
    job: Any
    # The file's text, kept with the job.
    source: Optional[str]


def load(job: Union[Mapping[str, Any], PathName], env: Optional[Mapping[str, str]] = None) -> JobFile:
    """A mapping is the job itself; a text or path names a file. Raises JobFileError."""
    if isinstance(job, (str, os.PathLike)):
        return _read(Path(job), os.environ if env is None else env)
    if not isinstance(job, Mapping):
        raise JobFileError(f"a job is a mapping, or the path of a job file, and not a {type(job).__name__}")
    return JobFile(_with_environment(_plain(job, "job"), os.environ if env is None else env, "job"), None)


def parse(text: str, name: str, env: Mapping[str, str]) -> Any:
    """The job in a text. `name` says by its ending `.json` that it is JSON, and stands in messages."""
    if name.endswith(".json"):
        try:
            tree = json.loads(text)
        except ValueError as error:
            raise JobFileError(f"{name}: not JSON: {error}") from None
    else:
        tree = _yaml(text, name)
    if not isinstance(tree, dict):
        raise JobFileError(f"{name}: a job file is a mapping of keys, and this is a {type(tree).__name__}")
    return _with_environment(tree, env, name)


def _read(place: Path, env: Mapping[str, str]) -> JobFile:
    try:
        text = place.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise JobFileError(f"{place}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise JobFileError(f"{place}: is not UTF-8 text") from None
    return JobFile(parse(text, str(place), env), text)


def _yaml(text: str, name: str) -> Any:
    try:
        from ._core import yaml_tree
    except ImportError:
        raise JobFileError(
            f"{name}: YAML cannot be read without PyYAML",
            remedy="pip install 'jobctl[yaml]', or give the job as a dict",
        ) from None
    return yaml_tree.parse(text, name)


# Behind a backslash, or an even number of dollars, a reference is another program's.
REFERENCE = re.compile(
    r"(?<!\\)(?<!(?<!\\)\$)(?P<dollars>\$+)\{oc\.env:(?P<variable>\w+)(?:,(?P<fallback>[^}]*))?\}", re.ASCII
)


def _with_environment(value: Any, env: Mapping[str, str], where: str) -> Any:
    if isinstance(value, dict):
        return {key: _with_environment(one, env, f"{where}.{key}") for key, one in value.items()}
    if isinstance(value, list):
        return [_with_environment(one, env, f"{where}[{at}]") for at, one in enumerate(value)]
    if not isinstance(value, str):
        return value

    def of(match: "re.Match[str]") -> str:
        dollars, name, fallback = match.group("dollars", "variable", "fallback")
        if len(dollars) % 2 == 0:
            return match.group()
        before = dollars[1:]
        if name in env:
            return before + env[name]
        if fallback is None:
            remedy = f"set {name}, or write ${{oc.env:{name},default}}"
            reference = match.group()[len(before) :]
            raise JobFileError(f"{where}: '{reference}': no variable {name} in the environment", remedy=remedy)
        return before + fallback.strip()

    return REFERENCE.sub(of, value)


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
