import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { distributedEnvironment } from '../../domain/machine-kinds/distributed-environment.js';
import { freePort } from '../temporal-server.js';

const run = promisify(execFile);
const TASKS = 2;
/** A Python with jax and torch (both for CPUs will do). Without it they are installed from the package index: some GB. */
const PYTHON = process.env['JOBCTL_TEST_PYTHON'];

const documented = /```python\n(jax\.distributed.*?)```/s.exec(
  readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8'),
)?.[1];

const JAX = `import os, jax
jax.config.update('jax_platforms', 'cpu')
${documented}
print('SAID', jax.process_index(), jax.process_count())
`;
const TORCH = `import os, torch, torch.distributed as dist
dist.init_process_group('gloo')
x = torch.ones(1)
dist.all_reduce(x)
print('SAID', dist.get_rank(), int(x.item()), os.environ['LOCAL_WORLD_SIZE'])
dist.destroy_process_group()
`;

/** Two hosts on loopback, with what jobctl sets on each: real libraries find each other by it. */
describe('JAX and PyTorch start as the docs say', () => {
  let folder: string;
  let python: string;
  before(async function () {
    this.timeout(1_200_000);
    folder = mkdtempSync(join(tmpdir(), 'real-libraries-'));
    python = PYTHON ?? join(folder, 'venv/bin/python');
    writeFileSync(join(folder, 'jax.py.txt'), JAX);
    writeFileSync(join(folder, 'torch.py.txt'), TORCH);
    if (PYTHON !== undefined) return;
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    await run(python, ['-m', 'pip', 'install', '--quiet', 'jax', 'torch']);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function onEachHost(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
    const ports = [await freePort(), await freePort()];
    const hosts = Array.from({ length: TASKS }, async (_, rank) => {
      const place = { coordinator: '127.0.0.1', jaxPort: ports[0], rank, tasks: TASKS };
      const own = distributedEnvironment(place as never, false);
      const { stdout } = await run(python, [...words], {
        env: { ...process.env, ...own, MASTER_PORT: String(ports[1]), PET_MASTER_PORT: String(ports[1]), ...env },
      });
      return stdout.split('\n').filter((line) => line.startsWith('SAID'));
    });
    return (await Promise.all(hosts)).flat().toSorted();
  }

  it('jax.distributed.initialize with the two arguments', async function () {
    this.timeout(300_000);
    assert.ok(documented, 'docs/kubernetes.md has the line');
    assert.deepEqual(await onEachHost([join(folder, 'jax.py.txt')]), ['SAID 0 2', 'SAID 1 2']);
  });

  it('torchrun, with as many processes a host as it is told', async function () {
    this.timeout(300_000);
    const torchrun = ['-m', 'torch.distributed.run', join(folder, 'torch.py.txt')];
    assert.deepEqual(await onEachHost(torchrun), ['SAID 0 2 1', 'SAID 1 2 1']);
    const two = await onEachHost(torchrun, { PET_NPROC_PER_NODE: '2' });
    assert.deepEqual(two, ['SAID 0 4 2', 'SAID 1 4 2', 'SAID 2 4 2', 'SAID 3 4 2']);
  });
});
