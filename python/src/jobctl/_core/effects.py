"""What operations yield, and what they get for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Generator, Generic, Mapping, Optional, Tuple, TypeVar, Union

T = TypeVar("T")


@dataclass(frozen=True)
class FileBody:
    """A local file as the body of a request. It is read again for each try, and must have this content each time."""

    path: Path
    size: int
    sha256: str


@dataclass(frozen=True)
class Request:
    method: str
    # Below the server's address, or a whole URL that carries its own rights.
    path: str
    query: Tuple[Tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Union[bytes, FileBody, None] = None
    # Done twice is as good as done once.
    is_repeatable: bool = True
    # Without a byte from the server.
    read_timeout_s: float = 60.0

    @property
    def is_elsewhere(self) -> bool:
        """No request to the server: the token must not go there."""
        return "://" in self.path


@dataclass(frozen=True)
class Answer:
    status: int
    # Names in small letters.
    headers: Mapping[str, str]
    body: bytes


class ConnectionCut(Exception):
    """Thrown into an operation: no answer, or the rest of one did not come. `was_sent`: the server may have acted."""

    def __init__(self, why: str, *, was_sent: bool) -> None:
        super().__init__(why)
        self.was_sent = was_sent


@dataclass(frozen=True)
class Send:
    """-> Answer, whole. Throws ConnectionCut."""

    request: Request


@dataclass(frozen=True)
class Open:
    """-> Answer. If its status is 200 its body is empty, and is read by `Read` until the next `Open`. Throws ConnectionCut."""

    request: Request


@dataclass(frozen=True)
class Read:
    """-> bytes of the open answer, empty at its end. Throws ConnectionCut."""


@dataclass(frozen=True)
class GetToken:
    """-> str, or None if the caller gave none. `is_renewed`: the last one was refused; -> None if there can be no other."""

    is_renewed: bool


@dataclass(frozen=True)
class Pause:
    """A random time between the two. -> None"""

    least_s: float
    most_s: float


@dataclass(frozen=True)
class Now:
    """-> float, seconds of a clock that never goes back."""


@dataclass(frozen=True)
class Do(Generic[T]):
    """Work on this computer that may block, such as reading a file. -> its result; what it raises is thrown."""

    work: Callable[[], T]


@dataclass(frozen=True)
class Emit(Generic[T]):
    """An item for the caller of an iteration. -> None"""

    item: T


Effect = Union[Send, Open, Read, GetToken, Pause, Now, Do[Any], Emit[Any]]
Operation = Generator[Effect, Any, T]


def do(work: Callable[[], T]) -> Operation[T]:
    """`Do`, with the type of its result."""
    result: T = yield Do(work)
    return result


def now() -> Operation[float]:
    seconds: float = yield Now()
    return seconds


def read() -> Operation[bytes]:
    piece: bytes = yield Read()
    return piece


def token(is_renewed: bool) -> Operation[Optional[str]]:
    text: Optional[str] = yield GetToken(is_renewed)
    return text
