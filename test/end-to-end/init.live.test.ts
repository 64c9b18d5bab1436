import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JobctlUser } from './jobctl-process.js';
import { withUser } from './with-stack.js';

const TRAIN = `import argparse
import os

from model import loss

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, default=3)
parser.add_argument('--lr', type=float, default=0.5)
args = parser.parse_args()

if __name__ == '__main__':
    for step in range(args.steps):
        print(f'step {step} loss {loss(step, args.lr)}')
    print('host', os.environ['JOBCTL_HOST_INDEX'], 'of', os.environ['JOBCTL_NUM_HOSTS'])
`;
const MODEL = 'def loss(step, lr):\n    return lr ** step\n';

describe('the file that jobctl init writes', function () {
  this.timeout(120_000);
  let user: JobctlUser;
  withUser((own) => void (user = own));

  it('runs as it is, with the folder on the host; and with other arguments behind --', async () => {
    const folder = join(user.home, 'mine');
    mkdirSync(folder);
    writeFileSync(join(folder, 'train.py'), TRAIN);
    writeFileSync(join(folder, 'model.py'), MODEL);
    writeFileSync(join(folder, 'requirements.txt'), '# nothing yet\n');
    const written = await user.run('init', folder);
    assert.equal(written.code, 0, written.stderr);
    const file = join(folder, 'job.yaml');
    const first = await user.run('submit', '--wait', file);
    assert.equal(first.code, 0, first.stderr);
    assert.deepEqual(first.stdout.split('\n'), [
      ...['0 │ step 0 loss 1.0', '0 │ step 1 loss 0.5', '0 │ step 2 loss 0.25', '0 │ host 0 of 1', ''],
    ]);
    const more = ['--', 'python3', 'train.py', '--steps', '1'];
    const second = await user.run('submit', '--wait', file, ...more);
    assert.deepEqual([second.code, second.stdout], [0, '0 │ step 0 loss 1.0\n0 │ host 0 of 1\n'], second.stderr);
  });
});
