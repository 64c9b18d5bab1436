"""What calls raise. Every error says what, where and which value; `remedy` says what to do, if there is something to do."""

from __future__ import annotations

from typing import Dict, Optional, Type


class JobctlError(Exception):
    """Base of all errors of this package."""

    def __init__(self, detail: str, *, remedy: Optional[str] = None) -> None:
        super().__init__(detail if remedy is None else f"{detail}\n{remedy}")
        self.detail = detail
        self.remedy = remedy


class ConfigurationError(JobctlError, ValueError):
    """An argument, a variable or a file of the caller is wrong. Nothing was sent."""


class JobFileError(ConfigurationError):
    """A job file cannot be read. Nothing was submitted."""


class FileChanged(JobctlError):
    """A local file changed while it was uploaded. Nothing was submitted."""


class TokenUnavailable(JobctlError):
    """No ID token could be had: see `jobctl.auth`."""


class ConnectionLost(JobctlError):
    """
    The server could not be reached, or did not answer in time, until the time for retries was over.

    `may_be_done`: the request was sent, and the server may have carried it out.
    """

    def __init__(self, detail: str, *, remedy: Optional[str] = None, may_be_done: bool = False) -> None:
        super().__init__(detail, remedy=remedy)
        self.may_be_done = may_be_done


class UnexpectedAnswer(JobctlError):
    """The answer is not what the contract says: another program answers, or another version of jobctl."""


class WaitTimeout(JobctlError, TimeoutError):
    """`wait` reached its timeout. The job goes on."""


class DownloadFailed(JobctlError):
    """A stored output is wrong or gone, or something is in the way of it here. Files that are whole were kept."""


class ApiError(JobctlError):
    """The server refused the call (application/problem+json). Subclasses are by `code`."""

    def __init__(
        self,
        detail: str,
        *,
        status: int,
        code: str,
        title: str = "",
        remedy: Optional[str] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(detail, remedy=remedy)
        self.status = status
        self.code = code
        self.title = title
        # Stands in the server's log and audit log too.
        self.request_id = request_id
        # Seconds, if the server gave them.
        self.retry_after = retry_after

    def __str__(self) -> str:
        tail = "" if self.request_id is None else f" (request {self.request_id})"
        return f"{self.detail}{tail}" if self.remedy is None else f"{self.detail}{tail}\n{self.remedy}"


class Invalid(ApiError):
    """The call or its job file is wrong; `detail` lists every problem, one a line."""


class Unauthenticated(ApiError):
    """There is no token, or the server does not take it."""


class Forbidden(ApiError):
    """The caller may not do this; `detail` says who may."""


class NotFound(ApiError):
    """There is no such job, pool, object or route."""


class NameTaken(ApiError):
    """Another job has this name, or another submission this idempotency key."""


class Refused(ApiError):
    """The job or pool is in a state in which this cannot be done. Nothing was changed."""


class TooLarge(ApiError):
    """The body of the call is larger than the server takes."""


class TooManyRequests(ApiError):
    """The caller's rate limit was reached, and the time for retries was over."""


class Unavailable(ApiError):
    """The server, or what is behind it, cannot answer now."""


class Internal(ApiError):
    """The server failed; `request_id` finds the failure in its log."""


BY_CODE: Dict[str, Type[ApiError]] = {
    "invalid": Invalid,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not-found": NotFound,
    "name-taken": NameTaken,
    "refused": Refused,
    "too-large": TooLarge,
    "too-many-requests": TooManyRequests,
    "unavailable": Unavailable,
    "internal": Internal,
}
"""Of each `code` of a problem, the class that is raised."""
