"""One call to its answer: token, retries, errors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Mapping, Optional, Tuple, Type, TypeVar, Union
from urllib.parse import quote

from ..errors import ApiError, ConnectionLost, TooManyRequests, Unauthenticated, Unavailable, UnexpectedAnswer
from .decode import decode
from .effects import Answer, ConnectionCut, Effect, Open, Operation, Pause, Request, Send, now, token
from .problem import error_of
from .routes import Route

T = TypeVar("T")


@dataclass(frozen=True)
class Retry:
    """When a call is tried again: a connection that fails, 429, 502, 503, 504; once a token that is refused."""

    # Since the call began. 0: never.
    for_s: float = 60.0
    # The first pause is half of it or more, and each later one twice as long, up to `most_s`.
    first_s: float = 0.25
    most_s: float = 10.0

    def pause(self, tries: int, least_s: float = 0.0) -> Pause:
        longest = min(self.most_s, self.first_s * 2.0 ** min(tries, 30))
        return Pause(least_s + longest / 2, least_s + longest)


class Calls:
    def __init__(self, retry: Retry) -> None:
        self.retry = retry

    def ask(
        self, route: Route, model: Type[T], of: str = "", *, query: "Query" = (), body: Optional[object] = None
    ) -> Operation[T]:
        """`of`: the job or pool of the path."""
        return self.json(request_of(route, of, query=query, body=body), model)

    def json(self, request: Request, model: Type[T]) -> Operation[T]:
        answer = yield from self.send(request)
        what = f"{request.method} {request.path}"
        try:
            value = json.loads(answer.body)
        except ValueError:
            raise UnexpectedAnswer(
                f"{what}: JSON is wanted, and {answer.headers.get('content-type', 'nothing')} came",
                remedy="is this the address of `jobctl serve`?",
            ) from None
        return decode(model, value, what)

    def send(self, request: Request) -> Operation[Answer]:
        """Raises ApiError, ConnectionLost."""
        return self._answered(request, Send)

    def open(self, request: Request) -> Operation[Answer]:
        """As `send`; the body of the answer is then read in pieces."""
        return self._answered(request, Open)

    def _answered(self, request: Request, effect: Type[Union[Send, Open]]) -> Operation[Answer]:
        began = yield from now()
        tries = 0
        text = yield from self._token(request, is_renewed=False)
        has_renewed = text is None
        while True:
            failure: Union[ApiError, ConnectionLost]
            try:
                answer: Answer = yield _effect(effect, _with_token(request, text))
                if answer.status < 300:
                    return answer
                failure = error_of(answer, f"{request.method} {request.path}")
            except ConnectionCut as cut:
                failure = _lost(request, cut)
            if isinstance(failure, Unauthenticated) and not has_renewed:
                has_renewed = True
                text = yield from self._token(request, is_renewed=True)
                if text is not None:
                    continue
            if not _may_try_again(request, failure):
                raise failure
            yield from self.pause_or_raise(began, tries, failure)
            tries += 1
            text = yield from self._token(request, is_renewed=False)

    def pause_or_raise(self, began: float, tries: int, failure: Exception) -> Operation[None]:
        """Pauses before the next try, or raises what failed if the time is over then."""
        least_s = getattr(failure, "retry_after", None) or 0.0
        pause = self.retry.pause(tries, least_s)
        if (yield from now()) + pause.least_s - began > self.retry.for_s:
            raise failure
        yield pause

    def _token(self, request: Request, *, is_renewed: bool) -> Operation[Optional[str]]:
        # Each time anew: retries may outlast a token.
        return None if request.is_elsewhere else (yield from token(is_renewed))


def request_of(
    route: Route,
    of: str = "",
    *,
    query: "Query" = (),
    body: Optional[object] = None,
    headers: Optional[Mapping[str, str]] = None,
) -> Request:
    path = re.sub(r"\{\w+\}", lambda _: quote(of, safe=""), route.path)
    kind = {} if body is None else JSON
    return Request(
        route.method,
        path,
        query=pairs(query),
        headers={**kind, **(headers or {})},
        body=None if body is None else as_json(body),
        is_repeatable=route.is_repeatable,
    )


def _with_token(request: Request, text: Optional[str]) -> Request:
    return request if text is None else replace(request, headers={**request.headers, **bearer(text)})


def bearer(text: str) -> Mapping[str, str]:
    return {"authorization": f"Bearer {text}"}


JSON: Mapping[str, str] = {"content-type": "application/json"}

Query = Tuple[Tuple[str, Union[str, int, bool, None]], ...]


def pairs(query: Query) -> Tuple[Tuple[str, str], ...]:
    """Without those that are None."""
    return tuple((name, _text(value)) for name, value in query if value is not None)


def as_json(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def present(**keys: Any) -> Mapping[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in keys.items() if value is not None}


def _text(value: Union[str, int, bool, None]) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _effect(effect: Type[Union[Send, Open]], request: Request) -> Effect:
    return effect(request)


def _may_try_again(request: Request, failure: Union[ApiError, ConnectionLost]) -> bool:
    if isinstance(failure, TooManyRequests):
        return True
    if isinstance(failure, ConnectionLost):
        return request.is_repeatable or not failure.may_be_done
    return request.is_repeatable and isinstance(failure, Unavailable)


def _lost(request: Request, cut: ConnectionCut) -> ConnectionLost:
    doubt = cut.was_sent and request.method != "GET"
    remedy: Optional[str] = None
    if doubt:
        remedy = "the server may have done it: look at the job before you call again"
    elif not cut.was_sent:
        remedy = "does `jobctl serve` run there? GET /healthz needs no token"
    return ConnectionLost(f"{request.method} {request.path}: {cut}", remedy=remedy, may_be_done=doubt)
