import { openTarget } from './conformance/gcloud/target.js';
import type { Target } from './conformance/gcloud/target.js';
import { itDrivesASlice, TpuCommands } from './conformance/gcloud/tpu-vm.js';

/** The short form; the whole suite is test/long/gcloud.test.ts. Each command costs a second, most of it Python's start. */
describe('gcloud, unmodified, on a slice', function () {
  this.timeout(60_000);
  let target: Target;

  before(async () => {
    target = await openTarget();
  });
  after(() => target?.stop());

  itDrivesASlice(() => new TpuCommands(target, 'GA'), 'short');
});
