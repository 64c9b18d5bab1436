from __future__ import annotations

from typing import Any, Iterator, List, Optional

import pytest
from callers import Caller
from scripted_server import ScriptedServer


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    started = ScriptedServer()
    yield started
    started.close()


@pytest.fixture(params=["blocking", "asyncio"])
def make(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes callers, which are closed at the end."""
    made: List[Caller] = []

    def caller(url: Optional[str], **options: Any) -> Caller:
        made.append(Caller(request.param, url, **options))
        return made[-1]

    yield caller
    for one in made:
        one.close()


@pytest.fixture
def call(make: Any, server: ScriptedServer) -> Caller:
    caller: Caller = make(server.url)
    return caller
