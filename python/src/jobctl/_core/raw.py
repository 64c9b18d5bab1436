from __future__ import annotations

import json
from typing import Any, Mapping

from ..errors import UnexpectedAnswer
from .calls import Calls
from .effects import Operation, Request


def raw_json(calls: Calls, request: Request) -> Operation[Mapping[str, Any]]:
    """The JSON object of an answer, as it is."""
    answer = yield from calls.send(request)
    try:
        value = json.loads(answer.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UnexpectedAnswer(f"{request.method} {request.path}: a JSON object is wanted")
    return value
