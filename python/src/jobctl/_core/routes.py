"""The operations of `jobctl serve`. Written by scripts/write-python.ts from contract/operations.ts: change that."""

from typing import NamedTuple


class Route(NamedTuple):
    method: str
    # `{id}` is a job's, `{pool}` a pool's.
    path: str
    # Done twice is as good as done once.
    is_repeatable: bool = True


LOGIN = Route("GET", "/v1/login")
PAGE_SESSION = Route("POST", "/v1/page-session", is_repeatable=False)
WHOAMI = Route("GET", "/v1/whoami")
ACCESS_EXPLAIN = Route("GET", "/v1/access/explain")
SECRET_NAMES = Route("GET", "/v1/secrets")
AUDIT = Route("GET", "/v1/audit")
SUBMIT = Route("POST", "/v1/jobs")
LIST = Route("GET", "/v1/jobs")
BOARD = Route("GET", "/v1/board")
COUNT = Route("GET", "/v1/jobs/count")
STATUS = Route("GET", "/v1/jobs/{id}")
DESCRIBE = Route("GET", "/v1/jobs/{id}/description")
OPEN_SLICES = Route("GET", "/v1/jobs/{id}/open-slices")
WAIT = Route("GET", "/v1/jobs/{id}/wait")
POLLS = Route("GET", "/v1/polls")
CANCEL = Route("POST", "/v1/jobs/{id}/cancel")
STOP = Route("POST", "/v1/jobs/{id}/stop", is_repeatable=False)
RESUME = Route("POST", "/v1/jobs/{id}/resume", is_repeatable=False)
RESTART = Route("POST", "/v1/jobs/{id}/restart", is_repeatable=False)
REQUEUE = Route("POST", "/v1/jobs/{id}/requeue", is_repeatable=False)
SET_UP = Route("POST", "/v1/jobs/{id}/setup", is_repeatable=False)
LIST_GROUPS = Route("GET", "/v1/groups")
GROUP = Route("GET", "/v1/groups/{id}")
DESCRIBE_GROUP = Route("GET", "/v1/groups/{id}/description")
GROUP_MEMBERS = Route("GET", "/v1/groups/{id}/members")
CANCEL_GROUP = Route("POST", "/v1/groups/{id}/cancel")
RETRY_GROUP = Route("POST", "/v1/groups/{id}/retry", is_repeatable=False)
BEGIN_GROUP = Route("POST", "/v1/groups/{id}/begin")
CREATE_SCHEDULE = Route("POST", "/v1/schedules")
SCHEDULES = Route("GET", "/v1/schedules")
SCHEDULE = Route("GET", "/v1/schedules/{id}")
PAUSE_SCHEDULE = Route("POST", "/v1/schedules/{id}/pause")
RESUME_SCHEDULE = Route("POST", "/v1/schedules/{id}/resume")
TRIGGER_SCHEDULE = Route("POST", "/v1/schedules/{id}/trigger", is_repeatable=False)
DELETE_SCHEDULE = Route("DELETE", "/v1/schedules/{id}")
PRIORITY = Route("POST", "/v1/jobs/{id}/priority")
DELETE = Route("DELETE", "/v1/jobs/{id}")
HOST_ACCESS = Route("POST", "/v1/jobs/{id}/host-access")
LOGS = Route("GET", "/v1/jobs/{id}/logs")
METRICS = Route("GET", "/v1/jobs/{id}/metrics")
WHY = Route("GET", "/v1/jobs/{id}/why")
REPORT = Route("GET", "/v1/reports")
OBJECTS = Route("GET", "/v1/objects")
OBJECT_STAT = Route("GET", "/v1/objects/stat")
OBJECT_CONTENT = Route("GET", "/v1/objects/content")
UPLOADS = Route("POST", "/v1/uploads")
COMPLETE_UPLOAD = Route("POST", "/v1/uploads/complete")
UPLOAD_CONTENT = Route("PUT", "/v1/uploads/content")
QUOTA_SHOW = Route("GET", "/v1/pools/{pool}")
CAPACITY = Route("GET", "/v1/pools/{pool}/capacity")
POOL_USE = Route("GET", "/v1/pools/{pool}/use")
QUOTA_PLAN = Route("POST", "/v1/pools/{pool}/quota/plan")
QUOTA_APPLY = Route("POST", "/v1/pools/{pool}/apply")
ADMISSION = Route("POST", "/v1/pools/{pool}/admission")
QUOTA_RELEASE = Route("POST", "/v1/pools/{pool}/release")
