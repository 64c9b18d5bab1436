import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outputManifestObject } from '../../domain/store-layout.js';
import { readManifest } from '../../domain/stored-outputs.js';
import { until } from '../until.js';
import { JobctlUser } from './jobctl-process.js';
import { cloudIsEmpty } from './nothing-left.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

/** Goes on from its checkpoint, which it replaces whole, and prints a line for each step that it makes. */
const TRAIN = `import json
import os
import time

os.makedirs('checkpoints', exist_ok=True)
LAST = 'checkpoints/last.json'
step = json.load(open(LAST))['step'] if os.path.exists(LAST) else 0
print('begins at', step, flush=True)
while step < 40:
    time.sleep(1)
    step += 1
    print('step', step, flush=True)
    with open('checkpoints/new.json', 'w') as file:
        json.dump({'step': step}, file)
    os.rename('checkpoints/new.json', LAST)
`;
const STEPS = 40;

describe('the file that jobctl init writes for a program with checkpoints', function () {
  this.timeout(300_000);
  let stack: TestStack;
  let user: JobctlUser;
  withStack((own) => {
    stack = own;
    user = JobctlUser.of(own);
  });
  after(() => user.leave());

  it('survives two preemptions without notice: all steps are done, and none twice but those behind what was stored', async () => {
    const folder = join(user.home, 'mine');
    mkdirSync(folder);
    writeFileSync(join(folder, 'train.py'), TRAIN);
    const written = await user.run('init', folder);
    assert.equal(written.code, 0, written.stderr);
    const submitted = await user.run(
      'submit',
      join(folder, 'job.yaml'),
      '--name',
      'twice',
      '--set',
      'outputs.every=10s',
    );
    assert.equal(submitted.code, 0, submitted.stderr);
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const printed = async (attempt: number): Promise<readonly string[]> =>
      (await storedLog(stack.store, { id: 'twice', attempt, stream: 'command', host: 0 })).split('\n');
    const checkpointOf = async (attempt: number): Promise<number> => {
      const manifest = await stack.store.read(outputManifestObject('twice', attempt, 0));
      const entries = manifest === undefined ? [] : readManifest(manifest).entries;
      const last = entries.find(({ path }) => path === 'checkpoints/last.json');
      if (last?.kind !== 'file') return 0;
      const content = await stack.store.read(`jobs/twice/outputs/contents/${last.sha256}`);
      return (JSON.parse(String(content)) as { step: number }).step;
    };
    const stored: number[] = [];
    for (const attempt of [1, 2]) {
      const before = stored.at(-1) ?? 0;
      await until('more is stored than before', async () => (await checkpointOf(attempt)) > before, 90_000);
      const [slice] = (await stack.jobs.describe('twice')).slices;
      await admin.post('preempt', { name: slice?.ref.name, mode: 'vanish' });
      await until('the next attempt has begun', async () => (await printed(attempt + 1))[0] !== '', 90_000);
      stored.push(await checkpointOf(attempt));
    }
    const outcome = await stack.jobs.wait('twice');
    assert.deepEqual([outcome.result, outcome.attempts, outcome.preemptions], ['succeeded', 3, 2], stack.tail());

    const attempts = await Promise.all([1, 2, 3].map(printed));
    assert.deepEqual(
      attempts.map(([first]) => first),
      [0, ...stored].map((step) => `begins at ${step}`),
    );
    const steps = attempts.flatMap((lines) =>
      lines.flatMap((line) => (line.startsWith('step ') ? [Number(line.slice(5))] : [])),
    );
    assert.deepEqual(
      [...new Set(steps)].toSorted((a, b) => a - b),
      Array.from({ length: STEPS }, (_, at) => at + 1),
    );
    assert.equal(steps.at(-1), STEPS);
    // By the lines themselves: what each attempt began with that had been done. One step alone is not told.
    const reached = attempts.map((lines) =>
      Math.max(...lines.map((line) => Number(/^step (\d+)$/.exec(line)?.[1] ?? 0))),
    );
    const again = stored.flatMap((step, index) =>
      step + 2 <= (reached[index] ?? 0) ? [{ attempt: index + 2, from: `${step + 1}`, to: `${reached[index]}` }] : [],
    );
    assert.deepEqual(outcome.doneTwice, again.length === 0 ? undefined : { unit: 'step', again });
    const status = await user.run('status', 'twice');
    const said = again.map(
      ({ attempt, from, to }) => `step ${from === to ? from : `${from} to ${to}`} by attempt ${attempt}`,
    );
    if (said.length > 0) assert.match(status.stdout, new RegExp(`done twice +${said.join('; ')}\n`));
    const events = (await stack.jobs.describe('twice')).events.map(({ text }) => text);
    const told = events.filter((text) =>
      /^restored 1 file \(\d+ B\) of attempt [12] on 1 host, as stored at \d\d:\d\d:\d\dZ/.test(text),
    );
    assert.equal(told.length, 2, events.join('\n'));
    const log = await user.run('logs', 'twice', '--module', 'outputs.restore', '--attempt', '3');
    assert.match(log.stdout, /restore: 1 file \(\d+ B\) of attempt 2 put back, as host 0 stored them at /, log.stderr);
    await cloudIsEmpty(admin);
  });
});
