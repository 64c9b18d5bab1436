from __future__ import annotations

import asyncio
import inspect
import random
import time
from typing import Any, AsyncIterator, Awaitable, Callable, Optional, TypeVar, Union, cast

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
AsyncTokenSource = Union[str, Callable[[], Union[str, Awaitable[str]]], None]


class AsyncTransport:
    def __init__(self, base: str, token: AsyncTokenSource, http: Optional[httpx.AsyncClient]) -> None:
        self._base = base
        self._token = token
        self._http = http or httpx.AsyncClient(limits=LIMITS)
        self._owns_http = http is None

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def run(self, operation: Operation[T]) -> T:
        run = _Run(self._base, self._http, self._token)
        try:
            step = _Step(operation)
            while not step.is_over:
                await run.step(step)
            return cast(T, step.result)
        finally:
            operation.close()
            await run.close()

    async def iterate(self, operation: Operation[None]) -> AsyncIterator[Any]:
        run = _Run(self._base, self._http, self._token)
        try:
            step = _Step(operation)
            while not step.is_over:
                if isinstance(step.effect, Emit):
                    yield step.effect.item
                    step.send(None)
                else:
                    await run.step(step)
        finally:
            operation.close()
            await run.close()


class _Step:
    """Where an operation stands. StopIteration cannot leave a coroutine, so its end is a field."""

    def __init__(self, operation: Operation[Any]) -> None:
        self._operation = operation
        self.effect: Optional[Effect] = None
        self.is_over = False
        self.result: Any = None
        self._go(lambda: next(operation))

    def send(self, result: Any) -> None:
        self._go(lambda: self._operation.send(result))

    def throw(self, error: Exception) -> None:
        self._go(lambda: self._operation.throw(error))

    def _go(self, move: Callable[[], Effect]) -> None:
        try:
            self.effect = move()
        except StopIteration as end:
            self.is_over, self.result = True, end.value


class _Run:
    """One operation, and the answer that it has open."""

    def __init__(self, base: str, http: httpx.AsyncClient, token: AsyncTokenSource) -> None:
        self._base = base
        self._http = http
        self._token = token
        self._open: Optional[httpx.Response] = None
        self._pieces: Optional[AsyncIterator[bytes]] = None

    async def step(self, step: _Step) -> None:
        try:
            result = await self._perform(step.effect)
        except Exception as error:
            step.throw(cut_of(error) if isinstance(error, httpx.TransportError) else error)
        else:
            step.send(result)

    async def close(self) -> None:
        if self._open is not None:
            opened, self._open = self._open, None
            await opened.aclose()

    async def _perform(self, effect: Optional[Effect]) -> Any:
        if isinstance(effect, (Send, Open)):
            return await self._send(effect.request, isinstance(effect, Open))
        if isinstance(effect, Read):
            return await self._read()
        if isinstance(effect, Do):
            return await asyncio.to_thread(effect.work)
        if isinstance(effect, Now):
            return time.monotonic()
        if isinstance(effect, Pause):
            return await asyncio.sleep(random.uniform(effect.least_s, effect.most_s))
        if isinstance(effect, GetToken):
            return await self._get_token(effect.is_renewed)
        raise TypeError(f"no single result comes of {effect!r}")

    async def _send(self, request: Request, is_streamed: bool) -> Answer:
        await self.close()
        body = _pieces_of(request.body) if isinstance(request.body, FileBody) else request.body
        built = self._http.build_request(content=body, **arguments(self._base, request, is_streamed))
        response = await self._http.send(built, stream=True, follow_redirects=False)
        if is_streamed and response.status_code == 200:
            self._open = response
            self._pieces = response.aiter_bytes()
            return answer_of(response.status_code, response.headers, b"")
        try:
            return answer_of(response.status_code, response.headers, await response.aread())
        finally:
            await response.aclose()

    async def _read(self) -> bytes:
        try:
            return b"" if self._pieces is None else await self._pieces.__anext__()
        except StopAsyncIteration:
            return b""

    async def _get_token(self, is_renewed: bool) -> Optional[str]:
        source = self._token
        if source is None or isinstance(source, str):
            return None if is_renewed else source
        if is_renewed and isinstance(source, CachedToken):
            source.forget()
        # It may start a program, or read a file.
        got = source() if inspect.iscoroutinefunction(source) else await asyncio.to_thread(source)
        return await got if inspect.isawaitable(got) else got


async def _pieces_of(body: FileBody) -> AsyncIterator[bytes]:
    reader = await asyncio.to_thread(FileReader, body)
    try:
        while piece := await asyncio.to_thread(reader.read):
            yield piece
    finally:
        reader.close()
