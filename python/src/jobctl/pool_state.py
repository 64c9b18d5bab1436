"""What `quota_show` answers: who holds what of a pool, and who waits. The server packs its rows; see quota/published-state.ts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ._core.decode import EPOCH
from .errors import UnexpectedAnswer
from .models import Json

LEASE_STATES = ("asking", "held", "draining", "parked")


@dataclass(frozen=True)
class QuotaRequest:
    """A job that waits for chips."""

    job: str
    project: str
    user: str
    # 1 is first.
    priority: int
    submitted_at: datetime
    # Quota units by type, or the number of chips: as the pool's file counts.
    units: Any
    waiting_since: Optional[datetime] = None
    pricing: Optional[str] = None
    zones: Optional[Tuple[str, ...]] = None
    # Whether a server has verified the user.
    is_verified: bool = False


@dataclass(frozen=True)
class QuotaLease:
    """A job that holds chips."""

    job: str
    project: str
    user: str
    priority: int
    submitted_at: datetime
    units: Any
    # Of the pool, from 0 (best).
    tier: int
    started_at: datetime
    # `asking`, `held`, `draining` or `parked`.
    state: Optional[str] = None
    zone: Optional[str] = None
    pricing: Optional[str] = None
    zones: Optional[Tuple[str, ...]] = None
    # Whether a server has verified the user.
    is_verified: bool = False


@dataclass(frozen=True)
class PoolState:
    pool: str
    at: datetime
    # `open`, `frozen` or `draining`.
    admission: str
    requests: Tuple[QuotaRequest, ...]
    leases: Tuple[QuotaLease, ...]
    config: Json
    admission_reason: Optional[str] = None
    # Where the files in force come from.
    source: Optional[str] = None
    # What is wrong with newer files.
    problem: Optional[str] = None
    # All that the server sent, packed.
    raw: Json = field(default_factory=dict, repr=False, compare=False)


def read_pool_state(value: Mapping[str, Any], where: str) -> PoolState:
    if value.get("v") != 1:
        raise UnexpectedAnswer(f"{where}: form {value.get('v')!r}, this package reads form 1", remedy="update it")
    try:
        return _unpacked(value)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer(f"{where}: is not a pool's state: {error!r}") from error


def _unpacked(value: Mapping[str, Any]) -> PoolState:
    at = EPOCH + timedelta(milliseconds=value["at"])
    demands, zones = value["demands"], value["zones"]
    return PoolState(
        pool=value["pool"],
        at=at,
        admission=value["admission"],
        requests=tuple(_request(row, demands, at) for row in value["requests"]),
        leases=tuple(_lease(row, demands, zones, at) for row in value["leases"]),
        config=value["config"],
        admission_reason=value.get("admissionReason"),
        source=value.get("source"),
        problem=value.get("problem"),
        raw=value,
    )


def _request(row: Sequence[Any], demands: Sequence[Any], at: datetime) -> QuotaRequest:
    project, user, priority, units, pricing, zones, is_verified = _demand(demands[row[1]])
    waiting = _cell(row, 3)
    return QuotaRequest(
        job_of(row[0]),
        project,
        user,
        priority,
        _before(at, row[2]),
        units,
        None if waiting is None else _before(at, waiting),
        pricing,
        zones,
        is_verified,
    )


def _lease(row: Sequence[Any], demands: Sequence[Any], names: Sequence[str], at: datetime) -> QuotaLease:
    project, user, priority, units, pricing, zones, is_verified = _demand(demands[row[1]])
    state, zone = _cell(row, 5), _cell(row, 8)
    return QuotaLease(
        job_of(row[0]),
        project,
        user,
        priority,
        _before(at, row[2]),
        units,
        row[3],
        _before(at, row[4]),
        None if state is None else LEASE_STATES[state],
        None if zone is None else names[zone],
        pricing,
        zones,
        is_verified,
    )


def _demand(row: List[Any]) -> Tuple[str, str, int, Any, Optional[str], Optional[Tuple[str, ...]], bool]:
    zones = _cell(row, 5)
    return row[0], row[1], row[2], row[3], _cell(row, 4), None if zones is None else tuple(zones), _cell(row, 6) == 1


def job_of(key: str) -> str:
    """Of a lease key, packed (`~job/22 letters/number`) or not. A text that is no key is its own job."""
    packed = re.fullmatch(r"~([^~].*)/[\w-]{22}/\d+", key, re.ASCII)
    if packed is not None:
        return packed.group(1)
    return (key[1:] if key.startswith("~") else key).split("/", 1)[0]


def _cell(row: Sequence[Any], index: int) -> Any:
    """Rows end at their last value."""
    return row[index] if index < len(row) else None


def _before(at: datetime, age_ms: float) -> datetime:
    return at - timedelta(milliseconds=age_ms)
