"""Starts jobs with wrong inputs, as a service author may write them, and prints what each is told as JSON."""

import asyncio
import json
import os
import sys
from typing import Any

from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError

from leaving import leave

TPU = {"accelerator": "v5litepod-8", "zone": "us-central1-a"}
JOB: dict[str, Any] = {"tpu": TPU, "command": {"run": "true"}}

WRONG: dict[str, list[Any]] = {
    "no-argument": [],
    "none": [None],
    "job-file-alone": [JOB],
    "two-arguments": [JOB, {"user": "alice"}],
    "version-as-text": [{"v": "1", "job": JOB}],
    "later-version": [{"v": 2, "job": JOB}],
    "job-missing": [{"v": 1, "spec": JOB}],
    "job-none": [{"v": 1, "job": None}],
    "integer-as-text": [{"v": 1, "job": {**JOB, "priority": "3", "slices": "2"}}],
    "float-for-integer": [{"v": 1, "job": {**JOB, "slices": 1.5}}],
    "none-for-a-section": [{"v": 1, "job": {**JOB, "tpu": None}}],
    "env-with-none": [{"v": 1, "job": {**JOB, "env": {"A": None}}}],
    "tuple-for-text": [{"v": 1, "job": {**JOB, "command": {"run": ("python", "train.py")}}}],
    "environment-reference": [{"v": 1, "job": {**JOB, "env": {"A": "${oc.env:HOME}"}}}],
    "carry": [{"v": 1, "job": JOB, "carry": {"v": 1}}],
}


async def told(client: Client, name: str, args: list[Any]) -> dict[str, str]:
    try:
        await client.execute_workflow("job", args=args, id=f"bad-{name}", task_queue=os.environ["JOBCTL_TASK_QUEUE"])
    except WorkflowFailureError as error:
        assert isinstance(error.cause, ApplicationError), repr(error.cause)
        return {"type": str(error.cause.type), "message": error.cause.message}
    return {"type": "none", "message": "it succeeded"}


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    names = list(WRONG)
    ends = await asyncio.gather(*(told(client, name, WRONG[name]) for name in names))
    json.dump(dict(zip(names, ends)), sys.stdout)


asyncio.run(main())
leave(0)
