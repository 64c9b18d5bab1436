"""What the hosts of a job stored of its output files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Tuple, Union


@dataclass(frozen=True)
class OutputFile:
    # Relative, with `/`, without `..`.
    path: str
    sha256: str
    size: int
    modified_at: datetime
    # Permission bits.
    mode: int


@dataclass(frozen=True)
class OutputLink:
    path: str
    # Relative to the link's folder, inside of the whole.
    target: str


@dataclass(frozen=True)
class OutputFolder:
    """One without entries."""

    path: str


OutputEntry = Union[OutputFile, OutputLink, OutputFolder]


@dataclass(frozen=True)
class HostOutputs:
    """What one host stored of one attempt."""

    attempt: int
    # Position among all hosts of all slices, from 0.
    host: int
    # `running`: stored before the command had ended.
    state: Literal["running", "ended"]
    at: datetime
    files: int
    bytes: int
    entries: Tuple[OutputEntry, ...]
    # Patterns of `outputs` that matched nothing.
    unmatched: Tuple[str, ...]
    # Files that could not be stored, a sentence each.
    problems: Tuple[str, ...]


@dataclass(frozen=True)
class Outputs:
    # Of one attempt, by host. Empty: nothing is stored of the choice.
    hosts: Tuple[HostOutputs, ...]
    # Attempts of which anything is in the store, in order.
    attempts: Tuple[int, ...]


@dataclass(frozen=True)
class Downloaded:
    attempt: int
    # The files here, those that were here already among them.
    files: Tuple[Path, ...]
    # Bytes that were read from the server.
    bytes: int
