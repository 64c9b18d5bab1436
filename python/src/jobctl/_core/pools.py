"""Pools, secrets' names, and who may do what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union
from urllib.parse import quote

from ..errors import ConfigurationError
from ..models import (
    AccessExplained,
    AccessRow,
    Admission,
    AuditLine,
    AuditLines,
    Capacity,
    Message,
    QuotaPlan,
    SecretName,
    SecretNames,
    WhoAmI,
)
from ..pool_state import PoolState, read_pool_state
from .calls import Calls, Query, present
from .effects import Operation, Request, do
from .raw import raw_json

PathName = Union[str, "os.PathLike[str]"]


def pool_path(pool: str, rest: str = "") -> str:
    return f"/v1/pools/{quote(pool, safe='')}{rest}"


def show(calls: Calls, pool: str) -> Operation[PoolState]:
    path = pool_path(pool)
    value = yield from raw_json(calls, Request("GET", path))
    return read_pool_state(value, f"GET {path}")


def capacity(calls: Calls, pool: str) -> Operation[Capacity]:
    return calls.get(pool_path(pool, "/capacity"), Capacity)


def apply(calls: Calls, pool: str, quota_file: Optional[PathName], pool_file: Optional[PathName]) -> Operation[Message]:
    if quota_file is None and pool_file is None:
        raise ConfigurationError("quota_apply: neither quota_file nor pool_file is given")
    body = yield from _files(quota_file, pool_file)
    return (yield from calls.post(pool_path(pool, "/apply"), body, Message, is_repeatable=True))


def plan(
    calls: Calls, pool: str, quota_file: Optional[PathName], pool_file: Optional[PathName]
) -> Operation[QuotaPlan]:
    body = yield from _files(quota_file, pool_file)
    return (yield from calls.post(pool_path(pool, "/quota/plan"), body, QuotaPlan, is_repeatable=True))


def _files(quota_file: Optional[PathName], pool_file: Optional[PathName]) -> Operation[Dict[str, Any]]:
    body: Dict[str, Any] = {}
    for key, file in (("quotaFile", quota_file), ("poolFile", pool_file)):
        if file is not None:
            body[key] = yield from do(lambda file=file: _text_of(file))  # type: ignore[misc]
    return body


def admission(calls: Calls, pool: str, state: Admission, reason: Optional[str]) -> Operation[Message]:
    body = present(admission=state, reason=reason)
    return calls.post(pool_path(pool, "/admission"), body, Message, is_repeatable=True)


def release(calls: Calls, pool: str, job: str, because: str) -> Operation[Message]:
    return calls.post(pool_path(pool, "/release"), {"job": job, "because": because}, Message, is_repeatable=True)


def secret_names(calls: Calls, query: Query) -> Operation[Tuple[SecretName, ...]]:
    answer = yield from calls.get("/v1/secrets", SecretNames, query)
    return answer.secrets


def whoami(calls: Calls) -> Operation[WhoAmI]:
    return calls.get("/v1/whoami", WhoAmI)


def explain(calls: Calls, query: Query) -> Operation[Tuple[AccessRow, ...]]:
    answer = yield from calls.get("/v1/access/explain", AccessExplained, query)
    return answer.rows


def audit(calls: Calls, query: Query) -> Operation[Tuple[AuditLine, ...]]:
    answer = yield from calls.get("/v1/audit", AuditLines, query)
    return answer.lines


def _text_of(file: PathName) -> Dict[str, str]:
    place = Path(file)
    try:
        return {"name": str(file), "text": place.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{place}: cannot be read: {error}") from error
