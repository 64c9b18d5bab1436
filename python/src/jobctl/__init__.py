"""Client of `jobctl serve`. `Client` blocks, `AsyncClient` is for asyncio."""

from . import auth, errors
from ._core.calls import Retry
from .async_client import AsyncClient
from .client import Client
from .errors import ApiError, JobctlError
from .models import AttemptEnd, Job, JobDescription, LogEvent, LogStretch, Outcome, Submitted
from .version import VERSION as __version__

__all__ = [
    "ApiError",
    "AsyncClient",
    "AttemptEnd",
    "Client",
    "Job",
    "JobDescription",
    "JobctlError",
    "LogEvent",
    "LogStretch",
    "Outcome",
    "Retry",
    "Submitted",
    "__version__",
    "auth",
    "errors",
]
