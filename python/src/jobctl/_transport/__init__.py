"""The same operations carried out by httpx: blocking, and on asyncio."""
