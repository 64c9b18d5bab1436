"""Pools, and files of theirs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Type, TypeVar, Union

from ..errors import ConfigurationError
from ..pool_state import PoolState, read_pool_state
from . import routes
from .calls import Calls, request_of
from .effects import Operation, do
from .raw import raw_json

T = TypeVar("T")
PathName = Union[str, "os.PathLike[str]"]


def show(calls: Calls, pool: str) -> Operation[PoolState]:
    request = request_of(routes.QUOTA_SHOW, pool)
    value = yield from raw_json(calls, request)
    return read_pool_state(value, f"{request.method} {request.path}")


def with_files(
    calls: Calls,
    route: routes.Route,
    model: Type[T],
    pool: str,
    quota_file: Optional[PathName],
    pool_file: Optional[PathName],
    replaces: Optional[str] = None,
    pool_file_replaces: Optional[str] = None,
) -> Operation[T]:
    if route is routes.QUOTA_APPLY and quota_file is None and pool_file is None:
        raise ConfigurationError("quota_apply: neither quota_file nor pool_file is given")
    body: Dict[str, Any] = {}
    for key, file, former in (("quotaFile", quota_file, replaces), ("poolFile", pool_file, pool_file_replaces)):
        if file is not None:
            body[key] = yield from do(lambda file=file: _text_of(file))  # type: ignore[misc]
            if former is not None:
                body[key]["replaces"] = former
    return (yield from calls.ask(route, model, pool, body=body))


def _text_of(file: PathName) -> Dict[str, str]:
    place = Path(file)
    try:
        return {"name": str(file), "text": place.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{place}: cannot be read: {error}") from error
