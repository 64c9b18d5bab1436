import assert from 'node:assert/strict';
import { itDrivesAVm } from './conformance/gcloud/compute-instances.js';
import type { Target } from './conformance/gcloud/target.js';
import { openTarget } from './conformance/gcloud/target.js';

describe('gcloud compute instances, unmodified', function () {
  this.timeout(60_000);
  let target: Target;

  before(async () => {
    target = await openTarget();
  });
  after(() => target?.stop());

  itDrivesAVm(() => target, 'vm-one');

  it('shows a stockout in the words of Google', async () => {
    await target.rehearsal?.admin('capacity', { zone: target.zone, generation: 'g2-standard-4', chips: 0 });
    const { code, stderr } = await target.gcloud.run(
      ...['compute', 'instances', 'create', 'none', `--zone=${target.zone}`, '--machine-type=g2-standard-4'],
      ...['--maintenance-policy=TERMINATE', '--image-family=debian-12', '--image-project=debian-cloud'],
    );
    assert.notEqual(code, 0);
    // gcloud breaks lines.
    assert.match(stderr.replaceAll(/\s+/g, ' '), /does not have enough resources available to fulfill the request/);
  });
});
