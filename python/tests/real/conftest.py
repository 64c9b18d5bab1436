from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest
from callers import Caller

# Made by test/long/python.test.ts: {"url": .., "tokens": {name: token}}.
PLACE = json.loads(Path(os.environ["JOBCTL_TEST_PLACE"]).read_text())
URL: str = PLACE["url"]
TOKENS: Dict[str, str] = PLACE["tokens"]

As = Callable[..., Caller]


@pytest.fixture(params=["blocking", "asyncio"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def as_(kind: str) -> Iterator[As]:
    """A client of somebody: `as_("alice")`."""
    made: List[Caller] = []

    def caller(name: str, url: str = URL, **options: Any) -> Caller:
        made.append(Caller(kind, url, token=TOKENS[name], **options))
        return made[-1]

    yield caller
    for one in made:
        one.close()
