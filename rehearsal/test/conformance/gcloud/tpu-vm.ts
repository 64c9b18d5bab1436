import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Target } from './target.js';

/** GA commands speak v2, those of alpha v2alpha1. */
export type Track = 'GA' | 'alpha';

export interface DescribedNode {
  readonly name: string;
  readonly state: string;
  readonly health: string;
  readonly acceleratorType: string;
  readonly apiVersion: string;
  readonly description?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly networkEndpoints: readonly { readonly ipAddress: string }[];
}

/** `gcloud [alpha] compute tpus ..` on one target. */
export class TpuCommands {
  readonly target: Target;
  readonly #track: readonly string[];

  constructor(target: Target, track: Track) {
    this.target = target;
    this.#track = track === 'GA' ? [] : ['alpha'];
  }

  args(...words: readonly string[]): readonly string[] {
    return [...this.#track, 'compute', 'tpus', ...words];
  }

  create(id: string, type = this.target.small, ...more: readonly string[]) {
    const what = [`--accelerator-type=${type}`, `--version=${this.target.runtime}`];
    return this.target.gcloud.done(...this.args('tpu-vm', 'create', id, ...what, ...more));
  }

  describe(id: string): Promise<DescribedNode> {
    return this.target.gcloud.json(...this.args('tpu-vm', 'describe', id));
  }

  ssh(id: string, worker: string, command: string, ...more: readonly string[]) {
    const { gcloud, sshFlags } = this.target;
    const flags = [`--worker=${worker}`, `--command=${command}`, ...sshFlags, ...more];
    return gcloud.run(...this.args('tpu-vm', 'ssh', id, ...flags));
  }

  delete(id: string) {
    return this.target.gcloud.done(...this.args('tpu-vm', 'delete', id));
  }
}

/** The life of one slice, in the fewest commands: create, describe, list, ssh, delete. */
export function itDrivesASlice(commands: () => TpuCommands, id: string): void {
  it('creates a slice and describes it as READY', async () => {
    const { stderr } = await commands().create(id);
    assert.match(stderr, new RegExp(`Created tpu \\[${id}\\]\\.`));
    const node = await commands().describe(id);
    assert.deepEqual([node.state, node.health, node.acceleratorType], ['READY', 'HEALTHY', commands().target.small]);
    assert.doesNotMatch(node.apiVersion, /^V1|UNSPECIFIED/);
  });

  it('lists it among those of all zones', async () => {
    const { gcloud, zone } = commands().target;
    const { stdout } = await gcloud.done(...commands().args('tpu-vm', 'list', '--zone=-'));
    const row = stdout.split('\n').find((line) => line.startsWith(`${id} `)) ?? stdout;
    assert.match(row, new RegExp(`^${id} +${zone} .*READY`));
  });

  it('runs a command on its first worker and ends as that does', async () => {
    const { code, stdout, stderr } = await commands().ssh(id, '0', 'echo $((6*7)); echo aside >&2; exit 5');
    // The first time ssh-keygen has its say before.
    assert.deepEqual([stdout.split('\n').slice(-2), code], [['42', ''], 5], stderr);
    assert.match(stderr, /aside/);
  });

  it('deletes it, and it is gone', async () => {
    assert.match((await commands().delete(id)).stderr, new RegExp(`Deleted tpu \\[${id}\\]\\.`));
    const { gcloud } = commands().target;
    const { code, stderr } = await gcloud.run(...commands().args('tpu-vm', 'describe', id));
    assert.equal(code, 1);
    assert.match(stderr, /NOT_FOUND: Resource 'projects\/.*' was not found/);
  });
}

/** Several workers: commands on all and on some of them, files to all and from one. */
export function itReachesWorkers(commands: () => TpuCommands, id: string): void {
  it('creates a slice of several workers', async () => {
    await commands().create(id, commands().target.large, '--labels=team=vision');
    assert.equal((await commands().describe(id)).networkEndpoints.length, 4);
  });

  it('runs a command on all workers, each with a name of its own', async () => {
    const { code, stdout, stderr } = await commands().ssh(id, 'all', 'hostname');
    assert.equal(code, 0, stderr);
    const names = new Set(stdout.trim().split('\n'));
    assert.equal(names.size, 4, stdout);
  });

  it('runs a command on some, by their internal addresses', async () => {
    const { code, stdout, stderr } = await commands().ssh(id, '1,3', 'echo here', '--internal-ip');
    assert.deepEqual([code, stdout], [0, 'here\nhere\n'], stderr);
  });

  it('copies a file to all workers and back from one', async () => {
    const { gcloud, folder, scpFlags } = commands().target;
    const [there, back] = [join(folder, `${id}-there`), join(folder, `${id}-back`)];
    writeFileSync(there, `${id}\n`);
    await gcloud.done(...commands().args('tpu-vm', 'scp', there, `${id}:copied`, '--worker=all', ...scpFlags));
    await gcloud.done(...commands().args('tpu-vm', 'scp', `${id}:copied`, back, '--worker=2', ...scpFlags));
    assert.equal(readFileSync(back, 'utf8'), `${id}\n`);
  });

  it('changes its labels and its description, and finds it by label', async () => {
    const { gcloud } = commands().target;
    const change = ['--update-labels=stage=test', '--remove-labels=team', '--description=changed'];
    await gcloud.done(...commands().args('tpu-vm', 'update', id, ...change));
    const node = await commands().describe(id);
    assert.deepEqual([node.labels, node.description], [{ stage: 'test' }, 'changed']);
    const found = await gcloud.json<readonly DescribedNode[]>(
      ...commands().args('tpu-vm', 'list', '--filter=labels.stage=test'),
    );
    assert.deepEqual(
      found.map(({ name }) => name.split('/').at(-1)),
      [id],
    );
  });

  it('reads what the guests told of themselves', async () => {
    const { gcloud } = commands().target;
    const told = await gcloud.json<readonly { readonly key: string; readonly worker_id: number }[]>(
      ...commands().args('tpu-vm', 'get-guest-attributes', id),
    );
    assert.equal(told.filter(({ key }) => key === 'ssh-ed25519').length, 4);
  });

  it('deletes it', async () => {
    await commands().delete(id);
  });
}

export function itStopsAndStarts(commands: () => TpuCommands, id: string): void {
  it('stops a slice, which nobody can reach then, and starts it with what was on its disk', async () => {
    const { gcloud } = commands().target;
    await commands().create(id);
    assert.equal((await commands().ssh(id, '0', 'echo kept > note')).code, 0);
    await gcloud.done(...commands().args('tpu-vm', 'stop', id));
    assert.equal((await commands().describe(id)).state, 'STOPPED');
    const refused = await commands().ssh(id, '0', 'true');
    assert.deepEqual([refused.code, /STOPPED/.test(refused.stderr)], [1, true], refused.stderr);
    await gcloud.done(...commands().args('tpu-vm', 'start', id));
    assert.equal((await commands().describe(id)).state, 'READY');
    assert.equal((await commands().ssh(id, '0', 'cat note')).stdout, 'kept\n');
    await commands().delete(id);
  });
}
