"""Submits one job to `jobctl serve`, shows its log as it comes, and says how it ended: python submit_over_http.py [JOB_ID]"""

import os
import sys
import time

from jobctl import Client, LogStretch, auth, errors

JOB = {
    "name": "train",
    "project": os.environ.get("JOBCTL_PROJECT", "vision"),
    "tpu": {"accelerator": "v5litepod-1", "zone": "us-central1-a", "allocation_mode": "queued-resources"},
    "env": {"LEARNING_RATE": "0.001"},
    "command": {"run": 'echo "training with learning rate $LEARNING_RATE on $(hostname)"'},
}


def main() -> int:
    # The id is the key of idempotency: a second start under it finds the same job, whether it runs or has ended.
    job_id = sys.argv[1] if len(sys.argv) > 1 else f"train-{int(time.time())}"
    token = auth.from_env() if auth.TOKEN_VARIABLE in os.environ else auth.from_cli()
    with Client(token=token) as client:
        try:
            submitted = client.submit(JOB, name=job_id)
        except errors.Invalid as error:
            print(error, file=sys.stderr)
            return 2
        print(f"{'submitted' if submitted.is_new else 'found'} {job_id}", flush=True)
        for event in client.follow_logs(job_id):
            if isinstance(event, LogStretch):
                sys.stdout.buffer.write(event.data)
                sys.stdout.flush()
        outcome = client.wait(job_id)
    print(f"{job_id} {outcome.result}: exit code {outcome.exit_code}, {outcome.attempts} attempts")
    return 0 if outcome.result == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
