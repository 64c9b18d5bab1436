"""Fits y = 3x + 2 by gradient descent. Host 0 stores the state; every host goes on from what is stored."""

import json
import os
import pathlib
import time

STEPS = int(os.environ.get('STEPS', 40))
HOST = int(os.environ['JOBCTL_HOST_INDEX'])
# The id of the job is the same for every attempt, so the next attempt finds what this one stored.
checkpoint = pathlib.Path('/mnt/bucket/checkpoints') / os.environ['JOBCTL_JOB_ID'] / 'line.json'

state = {'step': 0, 'slope': 0.0, 'offset': 0.0}
if checkpoint.exists():
    state = json.loads(checkpoint.read_text())
    print(f"host {HOST}: resumed at step {state['step']}")

points = [(i / 32 - 1, 3 * (i / 32 - 1) + 2) for i in range(64)]
while state['step'] < STEPS:
    errors = [(state['slope'] * x + state['offset'] - y, x) for x, y in points]
    state['slope'] -= 0.3 * sum(e * x for e, x in errors) / len(points)
    state['offset'] -= 0.3 * sum(e for e, _ in errors) / len(points)
    state['step'] += 1
    loss = sum(e * e for e, _ in errors) / len(points)
    if HOST == 0:
        print(f"step {state['step']} of {STEPS}: loss {loss:.5f}")
        if state['step'] % 5 == 0:
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
            checkpoint.write_text(json.dumps(state))  # an object of Cloud Storage appears whole, or not at all
    time.sleep(0.5)
print(f"host {HOST}: done: y = {state['slope']:.2f} x + {state['offset']:.2f}")
