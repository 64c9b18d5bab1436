import assert from 'node:assert/strict';
import type { TpuCommands } from './tpu-vm.js';

interface DescribedRequest {
  readonly name: string;
  readonly state: { readonly state: string };
  readonly tpu: { readonly nodeSpec: readonly { readonly nodeId: string }[] };
}

/** How each track asks for Spot: alpha's --spot sends STANDARD beside it (SDK 528), which the service refuses. */
export type SpotFlag = '--spot' | '--provisioning-model=spot';

/** One Spot slice by a queued resource: create, describe, list, ssh, delete by force. */
export function itQueuesASlice(commands: () => TpuCommands, id: string, spot: SpotFlag): void {
  it('queues a Spot slice, which becomes ACTIVE', async () => {
    const { gcloud, small, runtime } = commands().target;
    const what = [`--node-id=${id}-node`, `--accelerator-type=${small}`, `--runtime-version=${runtime}`, spot];
    const { stderr } = await gcloud.done(...commands().args('queued-resources', 'create', id, ...what));
    assert.match(stderr, new RegExp(`Created queued_resource \\[${id}\\]`));
    await becomesActive(commands(), id);
    assert.equal((await commands().describe(`${id}-node`)).state, 'READY');
  });

  it('lists it with its type, its state and the count of its nodes', async () => {
    const { gcloud, small } = commands().target;
    const { stdout } = await gcloud.done(...commands().args('queued-resources', 'list', '--zone=-'));
    const row = stdout.split('\n').find((line) => line.startsWith(`${id} `)) ?? stdout;
    assert.match(row, new RegExp(`^${id} .* 1 +${small} .*ACTIVE`));
  });

  it('refuses to delete it while it is ACTIVE, unless by force', async () => {
    const { gcloud } = commands().target;
    const refused = await gcloud.run(...commands().args('queued-resources', 'delete', id));
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /DeleteQueuedResource is not supported when state is ACTIVE/);
    await deleteByForce(commands(), id);
  });
}

/** Two slices of several workers each by one queued resource, and a command on all of them. */
export function itQueuesAMultislice(commands: () => TpuCommands, id: string): void {
  it('queues two slices at once and names their nodes', async () => {
    const { gcloud, large, runtime } = commands().target;
    const what = ['--node-count=2', `--accelerator-type=${large}`, `--runtime-version=${runtime}`];
    await gcloud.done(...commands().args('queued-resources', 'create', id, ...what));
    const { tpu } = await becomesActive(commands(), id);
    assert.deepEqual(
      tpu.nodeSpec.map(({ nodeId }) => nodeId),
      [`${id}-0`, `${id}-1`],
    );
  });

  it('runs a command on every worker of every slice', async () => {
    const { gcloud, sshFlags } = commands().target;
    const flags = ['--node=all', '--worker=all', '--command=hostname', ...sshFlags];
    // Its log says what each did; its own output is mixed of all.
    const { stdout, stderr } = await gcloud.done(...commands().args('queued-resources', 'ssh', id, ...flags));
    const names = stdout.match(/^t1v-\S+$/gm) ?? [];
    assert.equal(new Set(names).size, 8, `${stdout}\n${stderr}`);
  });

  it('deletes it with its nodes', async () => {
    await deleteByForce(commands(), id);
    const { gcloud } = commands().target;
    const left = await gcloud.json<readonly { readonly name: string }[]>(...commands().args('tpu-vm', 'list'));
    assert.deepEqual(
      left.filter(({ name }) => name.includes(`/${id}-`)),
      [],
    );
  });
}

async function becomesActive(commands: TpuCommands, id: string): Promise<DescribedRequest> {
  const { gcloud } = commands.target;
  for (;;) {
    const request = await gcloud.json<DescribedRequest>(...commands.args('queued-resources', 'describe', id));
    const { state } = request.state;
    if (state === 'ACTIVE') return request;
    // The test's own deadline ends it otherwise; a command takes a second, which is pause enough.
    if (state === 'FAILED' || state === 'SUSPENDED') throw new Error(`${id} is ${state}: ${JSON.stringify(request)}`);
  }
}

async function deleteByForce(commands: TpuCommands, id: string): Promise<void> {
  const { gcloud } = commands.target;
  await gcloud.done(...commands.args('queued-resources', 'delete', id, '--force'));
  const { code, stderr } = await gcloud.run(...commands.args('queued-resources', 'describe', id));
  assert.equal(code, 1);
  assert.match(stderr, /NOT_FOUND/);
}
