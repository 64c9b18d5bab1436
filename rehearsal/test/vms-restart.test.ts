import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Rehearsal } from '../index.js';
import { startRehearsal } from '../index.js';
import { scratchFolder, SUBNET_OCTET } from './scratch.js';

interface VmStatus {
  readonly name: string;
  readonly state: string;
  readonly address: string;
}

describe('VMs of Compute Engine, over a restart of the rehearsal', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('vms-restart');
  let rehearsal: Rehearsal;

  const start = async (): Promise<void> => {
    rehearsal = await startRehearsal({ stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET });
  };
  before(start);
  after(async () => {
    await rehearsal.stop();
    scratch.remove();
  });

  const vms = async (): Promise<readonly VmStatus[]> =>
    ((await (await fetch(`${rehearsal.endpoints.admin}/admin/status`)).json()) as { vms: readonly VmStatus[] }).vms;
  const call = async (method: string, path: string, body?: object): Promise<{ readonly name: string }> => {
    const url = `${rehearsal.endpoints.rest}/compute/v1/projects/p/zones/us-central1-a/${path}`;
    const content = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    return (await (await fetch(url, { method, ...content })).json()) as { readonly name: string };
  };
  const done = async ({ name }: { readonly name: string }): Promise<void> => {
    const operation = await call('POST', `operations/${name}/wait`);
    assert.equal((operation as { status?: string }).status, 'DONE', JSON.stringify(operation));
  };

  it('one that runs goes on under its address, and is gone when it was deleted', async () => {
    await done(
      await call('POST', 'instances', { name: 'one', machineType: 'zones/us-central1-a/machineTypes/e2-medium' }),
    );
    const [first] = await vms();
    assert.equal(first?.state, 'RUNNING');
    await rehearsal.stop();
    await start();
    const [again] = await vms();
    assert.deepEqual([again?.state, again?.address], ['RUNNING', first.address]);
    await done(await call('DELETE', 'instances/one'));
    assert.deepEqual(await vms(), []);
  });
});
