"""Starts one job, waits for its end, and says how it ended: python start_job.py [JOB_ID]"""

import asyncio
import os
import sys
import time
from typing import cast

from temporalio.client import Client, WorkflowFailureError
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

from jobctl_contract import JOB_TASK_QUEUE, JOB_WORKFLOW, Outcome, training_job
from leaving import leave


async def start_and_wait(client: Client, job_id: str) -> Outcome:
    """
    How the job ended, succeeded or failed.

    Raises WorkflowFailureError where there is no outcome: refused (its cause is an ApplicationError of type InvalidJob),
    cancelled or terminated.
    """
    handle = await client.start_workflow(
        JOB_WORKFLOW,
        training_job(0.001),
        id=job_id,
        task_queue=os.environ.get("JOBCTL_TASK_QUEUE", JOB_TASK_QUEUE),
        result_type=Outcome,
        # The id is the key of idempotency: a second start under it is refused, whether the job runs or has ended.
        id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
    )
    print(f"started {handle.id}")
    try:
        return cast(Outcome, await handle.result())
    except WorkflowFailureError as error:
        if isinstance(error.cause, ApplicationError) and error.cause.type == "JobFailed":
            # The failure's only detail is the same Outcome that a success returns.
            return cast(Outcome, error.cause.details[0])
        raise


async def main() -> int:
    job_id = sys.argv[1] if len(sys.argv) > 1 else f"train-{int(time.time())}"
    address = os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233")
    client = await Client.connect(address, namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"))
    try:
        outcome = await start_and_wait(client, job_id)
    except WorkflowFailureError as error:
        print(f"{job_id} has no outcome: {error.cause}", file=sys.stderr)
        return 1
    print(f"{job_id} {outcome['result']}: exit code {outcome.get('exitCode')}, {outcome['attempts']} attempts")
    return 0 if outcome["result"] == "succeeded" else 1


if __name__ == "__main__":
    leave(asyncio.run(main()))
