"""Each host fits a line of its own. What stands beside this file can be imported and read: the bundle is the folder."""

import json
import os
import pathlib
import time

from line import Line

HOST = os.environ['JOBCTL_HOST_INDEX']
settings = json.loads(pathlib.Path('settings.json').read_text())
commit = pathlib.Path('.git.commit')
print(f'host {HOST}: code of commit {commit.read_text()[:9]}' if commit.exists() else f'host {HOST}: code of no repository')

line = Line()
points = [(x / 32 - 1, 3 * (x / 32 - 1) + 2) for x in range(64)]
for step in range(1, settings['steps'] + 1):
    loss = line.improve(points, settings['rate'])
    print(f'host {HOST}: step {step} loss {loss:.5f}')
    time.sleep(0.1)
print(f'host {HOST}: done: y = {line.slope:.2f} x + {line.offset:.2f}')
