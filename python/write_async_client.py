"""
Writes src/jobctl/async_client.py from client.py: the same methods, awaited.

With --check it writes nothing, and exits with 1 if the file is another one.
"""

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "src/jobctl/client.py"
TARGET = SOURCE.with_name("async_client.py")
# In order. Each must change something: a rule that finds nothing is out of date.
RULES = [
    (r'^""".*?"""', '"""The client for asyncio. Written by write_async_client.py from client.py: change that."""'),
    (
        r"from \._transport\.blocking import BlockingTransport, TokenSource",
        "from ._transport.on_asyncio import AsyncTokenSource, AsyncTransport",
    ),
    (r"\bBlockingTransport\b", "AsyncTransport"),
    (r"\bTokenSource\b", "AsyncTokenSource"),
    (r"\bIterator\b", "AsyncIterator"),
    (r"\bhttpx\.Client\b", "httpx.AsyncClient"),
    (r"\bclass Client:", "class AsyncClient:"),
    (r"-> Client:", "-> AsyncClient:"),
    (r"use it in `with`\. Safe in threads\.", "use it in `async with`. For one event loop."),
    (r"a callable that returns one \(`jobctl\.auth`\)", "a callable, async or not, that returns one (`jobctl.auth`)"),
    (r"    def __enter__", "    async def __aenter__"),
    (r"    def __exit__", "    async def __aexit__"),
    (r"    def close\(", "    async def close("),
    (r"        self\.close\(\)", "        await self.close()"),
    (r"        self\._transport\.close\(\)", "        await self._transport.close()"),
    (r"(return|=) self\._run\(", r"\1 await self._run("),
    # A method that awaits is one to await. Iterators are not: they are for `async for`.
    (r"    def ((?:(?!\n    (?:async )?def |\n\n\ndef ).)*?await self\._run\()", r"    async def \1"),
]


def written() -> str:
    text = SOURCE.read_text(encoding="utf-8")
    for pattern, replacement in RULES:
        text, count = re.subn(pattern, replacement, text, flags=re.DOTALL | (re.MULTILINE if "^" not in pattern else 0))
        if count == 0:
            raise SystemExit(f"{__file__}: the rule {pattern!r} finds nothing")
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if TARGET.read_text(encoding="utf-8") != written():
            raise SystemExit(f"{TARGET}: is not as client.py makes it: python3 {__file__}")
    else:
        TARGET.write_text(written(), encoding="utf-8")
