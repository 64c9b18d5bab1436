from __future__ import annotations

import random
import time
from typing import Any, Callable, Iterator, Optional, TypeVar, Union, cast

import httpx

from .._core.effects import (
    Answer,
    Do,
    Effect,
    Emit,
    FileBody,
    GetToken,
    Now,
    Open,
    Operation,
    Pause,
    Read,
    Request,
    Send,
)
from .._core.uploads import FileReader
from ..auth import CachedToken
from .shared import LIMITS, answer_of, arguments, cut_of

T = TypeVar("T")
TokenSource = Union[str, Callable[[], str], None]


class BlockingTransport:
    def __init__(self, base: str, token: TokenSource, http: Optional[httpx.Client]) -> None:
        self._base = base
        self._token = token
        self._http = http or httpx.Client(limits=LIMITS)
        self._owns_http = http is None

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def run(self, operation: Operation[T]) -> T:
        run = _Run(self._base, self._http, self._token)
        try:
            effect = next(operation)
            while True:
                effect = run.step(operation, effect)
        except StopIteration as end:
            return cast(T, end.value)
        finally:
            operation.close()
            run.close()

    def iterate(self, operation: Operation[None]) -> Iterator[Any]:
        run = _Run(self._base, self._http, self._token)
        try:
            effect = next(operation)
            while True:
                if isinstance(effect, Emit):
                    yield effect.item
                    effect = operation.send(None)
                else:
                    effect = run.step(operation, effect)
        except StopIteration:
            return
        finally:
            operation.close()
            run.close()


class _Run:
    """One operation, and the answer that it has open."""

    def __init__(self, base: str, http: httpx.Client, token: TokenSource) -> None:
        self._base = base
        self._http = http
        self._token = token
        self._open: Optional[httpx.Response] = None
        self._pieces: Iterator[bytes] = iter(())

    def step(self, operation: Operation[Any], effect: Effect) -> Effect:
        try:
            result = self._perform(effect)
        except Exception as error:
            return operation.throw(cut_of(error) if isinstance(error, httpx.TransportError) else error)
        return operation.send(result)

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, (Send, Open)):
            return self._send(effect.request, isinstance(effect, Open))
        if isinstance(effect, Read):
            return next(self._pieces, b"")
        if isinstance(effect, Do):
            return effect.work()
        if isinstance(effect, Now):
            return time.monotonic()
        if isinstance(effect, Pause):
            return time.sleep(random.uniform(effect.least_s, effect.most_s))
        if isinstance(effect, GetToken):
            return self._get_token(effect.is_renewed)
        raise TypeError(f"no single result comes of {effect!r}")

    def _send(self, request: Request, is_streamed: bool) -> Answer:
        self.close()
        body = _pieces_of(request.body) if isinstance(request.body, FileBody) else request.body
        built = self._http.build_request(content=body, **arguments(self._base, request, is_streamed))
        response = self._http.send(built, stream=True, follow_redirects=False)
        if is_streamed and response.status_code == 200:
            self._open = response
            self._pieces = response.iter_bytes()
            return answer_of(response.status_code, response.headers, b"")
        try:
            return answer_of(response.status_code, response.headers, response.read())
        finally:
            response.close()

    def _get_token(self, is_renewed: bool) -> Optional[str]:
        if self._token is None or isinstance(self._token, str):
            return None if is_renewed else self._token
        if is_renewed and isinstance(self._token, CachedToken):
            self._token.forget()
        return self._token()


def _pieces_of(body: FileBody) -> Iterator[bytes]:
    reader = FileReader(body)
    try:
        while piece := reader.read():
            yield piece
    finally:
        reader.close()
