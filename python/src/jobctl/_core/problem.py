"""An answer that is no success, as the error that is raised."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Optional, Type

from ..errors import BY_CODE, ApiError, Unavailable
from .effects import Answer

# Of an answer that is no problem document, such as a proxy's.
CODE_OF_STATUS = {
    400: "invalid",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    413: "too-large",
    422: "invalid",
    429: "too-many-requests",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}
SHOWN = 300


def error_of(answer: Answer, what: str) -> ApiError:
    """`what` names the call, for an answer that explains nothing itself."""
    problem = _document(answer)
    code = str(problem.get("code") or CODE_OF_STATUS.get(answer.status, "internal"))
    detail = str(problem.get("detail") or problem.get("title") or "") or _of_stranger(answer, what)
    return class_of(code, answer.status)(
        detail,
        status=answer.status,
        code=code,
        title=str(problem.get("title", "")),
        remedy=_text(problem.get("remedy")),
        request_id=_text(problem.get("requestId")) or answer.headers.get("x-request-id"),
        retry_after=_seconds(answer.headers.get("retry-after")),
    )


def class_of(code: str, status: int) -> Type[ApiError]:
    # A proxy's 502 is as good as the server's 503.
    return BY_CODE.get(code, Unavailable if status in (502, 503, 504) else ApiError)


def _document(answer: Answer) -> Dict[str, Any]:
    if "json" not in answer.headers.get("content-type", ""):
        return {}
    try:
        value = json.loads(answer.body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _of_stranger(answer: Answer, what: str) -> str:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.body[:4096].decode("utf-8", "replace"))).strip()
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[:SHOWN])
    return f"{what}: answered with status {answer.status}" + (f": {shown}" if shown else "")


def _text(value: object) -> Optional[str]:
    return value if isinstance(value, str) else None


def _seconds(text: Optional[str]) -> Optional[float]:
    """Seconds alone: jobctl's server sends no dates there."""
    return float(text) if text is not None and re.fullmatch(r"\d{1,6}", text) else None
