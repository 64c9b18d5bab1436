import assert from 'node:assert/strict';
import type { TpuCommands } from './tpu-vm.js';

/** What there is to be had: types, runtimes, places. */
export function itTellsWhatThereIs(commands: () => TpuCommands): void {
  it('lists and describes accelerator types', async () => {
    const { gcloud, small } = commands().target;
    const types = await gcloud.json<readonly { readonly type: string }[]>(
      ...commands().args('accelerator-types', 'list'),
    );
    assert.ok(types.some(({ type }) => type === small));
    const one = await gcloud.json<{ readonly type: string }>(
      ...commands().args('tpu-vm', 'accelerator-types', 'describe', small),
    );
    assert.equal(one.type, small);
  });

  it('lists and describes runtime versions', async () => {
    const { gcloud, runtime } = commands().target;
    const { stdout } = await gcloud.done(...commands().args('tpu-vm', 'versions', 'list'));
    assert.ok(stdout.split('\n').includes(runtime), stdout);
    const one = await gcloud.json<{ readonly version: string }>(
      ...commands().args('tpu-vm', 'versions', 'describe', runtime),
    );
    assert.equal(one.version, runtime);
  });

  it('lists and describes locations', async () => {
    const { gcloud, zone } = commands().target;
    const { stdout } = await gcloud.done(...commands().args('locations', 'list'));
    assert.match(stdout, new RegExp(`^${zone} `, 'm'));
    const one = await gcloud.json<{ readonly locationId: string }>(...commands().args('locations', 'describe', zone));
    assert.equal(one.locationId, zone);
  });

  it('makes the service identity', async () => {
    const { gcloud } = commands().target;
    const { stdout, stderr } = await gcloud.done(...commands().args('tpu-vm', 'service-identity', 'create'));
    assert.match(`${stdout}${stderr}`, /service-\d+@cloud-tpu\.iam\.gserviceaccount\.com/);
  });
}
