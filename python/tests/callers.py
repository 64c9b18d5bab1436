"""Either client, called alike."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, List, Optional, Union

from jobctl import AsyncClient, Client, Retry

QUICK = Retry(for_s=5.0, first_s=0.01, most_s=0.05)


class Caller:
    """Either client, called alike: every claim of these tests is made of both. Iterations give lists."""

    def __init__(self, kind: str, url: Optional[str], **options: Any) -> None:
        options = {"retry": QUICK, "host_name": None, **options}
        self.kind = kind
        self.client: Union[Client, AsyncClient] = (
            Client(url, **options) if kind == "blocking" else AsyncClient(url, **options)
        )
        # Not before: a client that is refused leaves no loop behind.
        self._loop = asyncio.new_event_loop()

    def __call__(self, method: str, *args: Any, **more: Any) -> Any:
        got = getattr(self.client, method)(*args, **more)
        if inspect.isasyncgen(got):
            return self._loop.run_until_complete(_listed(got))
        if inspect.isawaitable(got):
            return self._loop.run_until_complete(got)
        return list(got) if inspect.isgenerator(got) else got

    def close(self) -> None:
        self("close")
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


async def _listed(items: Any) -> List[Any]:
    return [item async for item in items]
