"""This service's worker and one sweep on it, in one process: python run_sweep.py [SWEEP_ID]"""

import asyncio
import os
import sys
import time

from temporalio.client import Client
from temporalio.worker import Worker

from jobctl_contract import JOB_TASK_QUEUE, training_job
from leaving import leave
from workflows import Sweep, SweepInput

# This service's own queue: jobctl's workers do not know its workflows, and its worker does not know jobctl's.
OWN_TASK_QUEUE = "python-service"
LEARNING_RATES = [0.001, 0.01]


async def main() -> int:
    sweep_id = sys.argv[1] if len(sys.argv) > 1 else f"sweep-{int(time.time())}"
    address = os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233")
    client = await Client.connect(address, namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"))
    sweep = SweepInput(
        jobs={f"{sweep_id}-{index}": training_job(rate) for index, rate in enumerate(LEARNING_RATES)},
        job_task_queue=os.environ.get("JOBCTL_TASK_QUEUE", JOB_TASK_QUEUE),
    )
    async with Worker(client, task_queue=OWN_TASK_QUEUE, workflows=[Sweep]):
        ends = await client.execute_workflow(Sweep.run, sweep, id=sweep_id, task_queue=OWN_TASK_QUEUE)
    for end in ends:
        print(f"{end.job} {end.result}")
    return 0 if all(end.result == "succeeded" for end in ends) else 1


if __name__ == "__main__":
    leave(asyncio.run(main()))
