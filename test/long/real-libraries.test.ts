import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { distributedEnvironment } from '../../domain/machine-kinds/distributed-environment.js';
import { freePort } from '../temporal-server.js';

const run = promisify(execFile);
const TASKS = 2;
/**
 * A Python with jax, torch, accelerate, lightning and deepspeed (for CPUs will do). Without it they are installed from the
 * package index: some GB.
 */
const PYTHON = process.env['JOBCTL_TEST_PYTHON'];

const docs = readFileSync(new URL('../../docs/kubernetes.md', import.meta.url), 'utf8');
const documented = /```python\n(jax\.distributed.*?)```/s.exec(docs)?.[1];

const JAX = `import os, jax
jax.config.update('jax_platforms', 'cpu')
${documented}
print('SAID', jax.process_index(), jax.process_count())
`;
/** Python that runs a shell line, `$0` being Python and `$1` the program. */
const SHELL = 'import os, sys; os.execvp("bash", ["bash", "-c", sys.argv[1], sys.executable, *sys.argv[2:]])';
const TORCH = `import os, torch, torch.distributed as dist
dist.init_process_group('gloo')
x = torch.ones(1)
dist.all_reduce(x)
print('SAID', dist.get_rank(), int(x.item()), os.environ['LOCAL_WORLD_SIZE'])
dist.destroy_process_group()
`;

/** The mean of both hosts' gradients, 4 and 8: they have been exchanged. */
const DDP = `import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group('gloo')
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.full((4, 2), float(dist.get_rank() + 1))).sum().backward()
print('SAID', dist.get_rank(), dist.get_world_size(), int(model.module.weight.grad[0, 0].item()))
dist.destroy_process_group()
`;
const ACCELERATE = `import torch
from accelerate import Accelerator
one = Accelerator(cpu=True)
one.prepare(torch.nn.Linear(2, 1))
print('SAID', one.process_index, one.num_processes, int(one.reduce(torch.ones(1)).item()))
one.end_training()
`;
const LIGHTNING = `import os, torch, lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def training_step(self, batch, index):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
size = dict(devices=int(os.environ['DEVICES']), num_nodes=int(os.environ['PET_NNODES']))
trainer = lightning.Trainer(accelerator='cpu', strategy='ddp', max_steps=2, **size, **quiet)
trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(16, 2), batch_size=2))
# One write: its processes share the output.
os.write(1, f'SAID {trainer.global_rank} {trainer.world_size} {trainer.global_step}\\n'.encode())
`;

/** The gradients of both hosts, 4 and 8, in one step of SGD by 0.1 from a weight of 0. */
const DEEPSPEED = `import argparse, torch, deepspeed
parser = argparse.ArgumentParser()
parser.add_argument('--local_rank', type=int)
parser.parse_args()
deepspeed.init_distributed()
model = torch.nn.Linear(2, 1)
torch.nn.init.zeros_(model.weight)
config = {'train_micro_batch_size_per_gpu': 4, 'gradient_clipping': 0.0, 'optimizer': {'type': 'SGD', 'params': {'lr': 0.1}}}
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
engine.backward(engine(torch.full((4, 2), float(deepspeed.comm.get_rank() + 1))).sum())
engine.step()
print('SAID', deepspeed.comm.get_rank(), deepspeed.comm.get_world_size(), round(-10 * model.weight[0, 0].item()))
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
    const programs = { torch: TORCH, ddp: DDP, accelerate: ACCELERATE, lightning: LIGHTNING, deepspeed: DEEPSPEED };
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, `${name}.py.txt`), text);
    if (PYTHON !== undefined) return;
    await run('python3', ['-m', 'venv', join(folder, 'venv')]);
    const pip = ['-m', 'pip', 'install', '--quiet'];
    // DeepSpeed compiles on the host, with torch's own tools, and its setup needs torch.
    await run(python, [...pip, 'jax', 'torch', 'accelerate', 'lightning', 'setuptools', 'wheel', 'ninja']);
    await run(python, [...pip, '--no-build-isolation', 'deepspeed'], {
      env: { ...process.env, DS_ACCELERATOR: 'cpu' },
    });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function onEachHost(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string[]> {
    const ports = [await freePort(), await freePort()];
    const hosts = Array.from({ length: TASKS }, async (_, rank) => {
      const place = { coordinator: '127.0.0.1', jaxPort: ports[0], rank, tasks: TASKS };
      const own = distributedEnvironment(place as never, false);
      const { stdout } = await run(python, [...words], {
        env: {
          ...process.env,
          ...own,
          JOBCTL_NUM_HOSTS: String(TASKS),
          JOBCTL_HOST_INDEX: String(rank),
          JOBCTL_HOST_IPS: '127.0.0.1,127.0.0.2',
          MASTER_PORT: String(ports[1]),
          PET_MASTER_PORT: String(ports[1]),
          ...env,
        },
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

  const TORCHRUN = ['-m', 'torch.distributed.run'];
  const program = (name: string): string => join(folder, `${name}.py.txt`);
  const BOTH = ['SAID 0 2 2', 'SAID 1 2 2'];

  it('DistributedDataParallel, alone and by torchrun', async function () {
    this.timeout(300_000);
    for (const launcher of [[], TORCHRUN])
      assert.deepEqual(await onEachHost([...launcher, program('ddp')]), ['SAID 0 2 6', 'SAID 1 2 6']);
  });

  it('Accelerate: alone, by torchrun, and by its own launcher with the documented arguments', async function () {
    this.timeout(300_000);
    for (const launcher of [[], TORCHRUN])
      assert.deepEqual(await onEachHost([...launcher, program('accelerate')]), BOTH);
    const words = /`accelerate (launch .*?) --num_processes N train\.py`/.exec(docs)?.[1];
    assert.ok(words, 'docs/kubernetes.md has the line');
    const line = `exec "$0" -m accelerate.commands.accelerate_cli ${words} --cpu --num_processes 2 "$1"`;
    assert.deepEqual(await onEachHost(['-c', SHELL, line, program('accelerate')]), BOTH);
  });

  it('Lightning, which starts its processes itself or has them from torchrun', async function () {
    this.timeout(300_000);
    assert.deepEqual(await onEachHost([program('lightning')], { DEVICES: '1' }), BOTH);
    assert.deepEqual(await onEachHost([...TORCHRUN, program('lightning')], { DEVICES: '1' }), BOTH);
    const four = [0, 1, 2, 3].map((rank) => `SAID ${rank} 4 2`);
    assert.deepEqual(await onEachHost([program('lightning')], { DEVICES: '2' }), four);
  });

  it('DeepSpeed: by torchrun, and by its own launcher with the documented lines', async function () {
    this.timeout(900_000);
    const cpu = { DS_ACCELERATOR: 'cpu', OMP_NUM_THREADS: '1', PATH: `${dirname(python)}:${process.env['PATH']}` };
    const both = ['SAID 0 2 6', 'SAID 1 2 6'];
    assert.deepEqual(await onEachHost([...TORCHRUN, program('deepspeed')], cpu), both);
    const lines = /```sh\n(tr .*?deepspeed .*?) train\.py\n```/s.exec(docs)?.[1];
    assert.ok(lines, 'docs/kubernetes.md has the lines');
    const line = `cd "$(mktemp -d)" && ${lines.replace('slots=8', 'slots=1')} "$1"`;
    assert.deepEqual(await onEachHost(['-c', SHELL, line, program('deepspeed')], cpu), both);
  });

  it('torchrun, with as many processes a host as it is told', async function () {
    this.timeout(300_000);
    const torchrun = ['-m', 'torch.distributed.run', join(folder, 'torch.py.txt')];
    assert.deepEqual(await onEachHost(torchrun), ['SAID 0 2 1', 'SAID 1 2 1']);
    const two = await onEachHost(torchrun, { PET_NPROC_PER_NODE: '2' });
    assert.deepEqual(two, ['SAID 0 4 2', 'SAID 1 4 2', 'SAID 2 4 2', 'SAID 3 4 2']);
  });
});
