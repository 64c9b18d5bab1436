import assert from 'node:assert/strict';
import { join } from 'node:path';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';
import { createCloudTpu } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import { listEveryVm } from '../../cloud/machines/compute-engine/audit.js';
import { createComputeEngine } from '../../cloud/machines/compute-engine/compute-engine.js';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startRehearsal } from '../../rehearsal/index.js';
import { scratchFolder, SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import { GOOGLE_PROJECT, slicePlan } from './cloud-tpu-plan.js';
import { vmsPlan } from './compute-engine-plan.js';

describe('the token of a server on this computer', function () {
  this.timeout(60_000);
  const scratch = scratchFolder('token-file');
  let rehearsal: Rehearsal;
  const start = async (ports: { readonly tpuPort?: number; readonly restPort?: number } = {}): Promise<void> => {
    const place = { stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET, sshPort: 2222 };
    rehearsal = await startRehearsal({ ...place, ...ports, callers: 'token' });
  };
  before(() => start());
  after(async () => {
    await rehearsal?.stop();
    scratch.remove();
  });

  it('is sent by the adapters and the auditors, read anew after each start of the server', async () => {
    const { tpu, rest, tokenFile: accessTokenFile } = rehearsal.endpoints;
    const [host = '', port = ''] = tpu.split(':');
    const tpuPort = createCloudTpu({ endpoint: { host, port: Number(port), insecure: true, accessTokenFile } });
    const vms = createComputeEngine({ endpoint: rest, accessTokenFile });
    const plan = slicePlan('none', 'tpu-vm');
    const asked = async (): Promise<readonly unknown[]> => [
      (await tpuPort.observe(plan)).kind,
      (await vms.observe(vmsPlan('none'))).kind,
      await listEverything({ restEndpoint: rest, googleProject: GOOGLE_PROJECT, accessTokenFile }),
      await listEveryVm({ restEndpoint: rest, googleProject: GOOGLE_PROJECT, accessTokenFile }),
    ];
    try {
      assert.deepEqual(await asked(), ['missing', 'missing', [], []]);
      await rehearsal.stop();
      await start({ tpuPort: Number(port), restPort: Number(new URL(rest).port) });
      assert.deepEqual(await asked(), ['missing', 'missing', [], []]);
    } finally {
      await tpuPort.close();
      await vms.close();
    }
  });

  it('is missed by name where there is none', async () => {
    const { rest, tpu } = rehearsal.endpoints;
    const options = { restEndpoint: rest, googleProject: GOOGLE_PROJECT };
    const accessTokenFile = join(scratch.path, 'absent');
    for (const more of [{}, { accessTokenFile }]) {
      await assert.rejects(listEverything({ ...options, ...more }), /the Google login .* is not accepted/);
      await assert.rejects(listEveryVm({ ...options, ...more }), /the Google login .* is not accepted/);
    }
    const [host = '', port = ''] = tpu.split(':');
    const without = createCloudTpu({ endpoint: { host, port: Number(port), insecure: true, accessTokenFile } });
    await assert.rejects(without.observe(slicePlan('none', 'tpu-vm')), /the Google login .* is not accepted/);
    await without.close();
  });
});
