import assert from 'node:assert/strict';
import { createCloudTpu, type CloudTpuMachines } from '../../cloud/machines/cloud-tpu/google-tpu.js';
import type { CloudTpuPlan } from '../../domain/machine-kinds/cloud-tpu/words.js';
import type { Condition } from '../../domain/slice.js';
import { GOOGLE_PROJECT, slicePlan, ZONE } from './cloud-tpu-plan.js';
import { eventually } from './eventually.js';
import { makeReady, observed } from './machines-conformance.js';
import { type RehearsedCloud, startRehearsedCloud } from './rehearsed-cloud.js';

const PARENT = `projects/${GOOGLE_PROJECT}/locations/${ZONE}`;

/** docs/adr/0117 */
describe('flex-start and deadlines, over the wire', function () {
  this.timeout(60_000);
  let cloud: RehearsedCloud;
  let port: CloudTpuMachines;
  let under: { readonly port: CloudTpuMachines; readonly deadlineMs: number };

  before(async () => {
    cloud = await startRehearsedCloud();
    port = cloud.tpuPort();
    under = { port, deadlineMs: 15_000 };
  });
  after(() => cloud.stop());
  afterEach(() => cloud.takeBack('hold').catch(() => undefined));

  const flex = (name: string, over: Partial<CloudTpuPlan> = {}): CloudTpuPlan =>
    slicePlan(name, 'queued-resources', {
      accelerator: 'v5litepod-8',
      pricing: 'flex-start',
      runSeconds: 7200,
      ...over,
    });
  const lost = (plan: CloudTpuPlan): Promise<Condition> =>
    eventually(
      `${plan.ref.name} is lost`,
      () => observed(under, plan),
      ({ kind }) => kind === 'lost',
    );

  it('a slice is asked for by v2alpha1, becomes ready, and says how long it lives', async () => {
    const plan = flex('flex-life');
    await makeReady(under, plan);
    const seen = await observed(under, plan);
    const { createTime } = (await (await fetch(`${cloud.restEndpoint}/v2/${PARENT}/nodes/flex-life`)).json()) as {
      readonly createTime: string;
    };
    const made = Math.floor(Date.parse(createTime) / 1000) * 1000;
    assert.equal(seen.kind === 'ready' && seen.endsAt, made + 7_200_000);
    const answer = await fetch(`${cloud.restEndpoint}/v2alpha1/${PARENT}/queuedResources/flex-life`);
    const { provisioningModel, runDuration, spot } = (await answer.json()) as Record<string, unknown>;
    assert.deepEqual([provisioningModel, runDuration, spot], ['FLEX_START', { maxRunDuration: '7200s' }, undefined]);
    assert.equal((await port.create(plan)).kind, 'exists', 'a second call under its name');
  });

  it('its end is a loss that says what it was and what it costs', async () => {
    const plan = flex('flex-end', { runSeconds: 1 });
    assert.equal((await port.create(plan)).kind, 'accepted');
    const end = (await lost(plan)) as Extract<Condition, { kind: 'lost' }>;
    assert.equal(end.cause, 'preempted');
    assert.match(
      end.message,
      /SUSPEND(ING|ED): Google deletes a flex-start slice when its run duration, 1s, is over, which counts as a preemption$/,
    );
  });

  it('a slice that a person deleted did not come to its end', async () => {
    const plan = flex('flex-by-hand');
    await makeReady(under, plan);
    const node = `${cloud.restEndpoint}/v2/${PARENT}/nodes/flex-by-hand`;
    assert.equal((await fetch(node, { method: 'DELETE' })).status, 200);
    const end = await eventually(
      'it is suspended',
      () => observed(under, plan),
      (seen) => seen.kind === 'lost',
    );
    assert.doesNotMatch(JSON.stringify(end), /run duration/);
  });

  it('a zone that does not sell it refuses for good, and no other call is made', async () => {
    const usual = flex('flex-elsewhere');
    const answer = await port.create({ ...usual, ref: { ...usual.ref, zone: 'us-central2-b' }, accelerator: 'v4-8' });
    assert.ok(answer.kind === 'refused', JSON.stringify(answer));
    assert.equal(answer.scope, 'zone-lasting');
    assert.match(answer.message, /^FLEX_START provisioning model is not supported for accelerator type "v4-8"/);
  });

  it('more than Google sells, and a name that is none, are refused in its words', async () => {
    const long = await port.create(flex('flex-long', { runSeconds: 7 * 86_400 + 1 }));
    assert.deepEqual(long, { kind: 'refused', scope: 'unknown', message: 'max_run_duration must be at most 604800s' });
    await cloud.admin('refuse', {
      method: 'CreateQueuedResource',
      code: 'RESOURCE_EXHAUSTED',
      message: 'Quota x. Limit 1',
    });
    const noQuota = await port.create(flex('flex-quota'));
    await cloud.takeBack('refuse');
    assert.equal(noQuota.kind === 'refused' && noQuota.scope, 'zone', JSON.stringify(noQuota));
  });

  it('v2 does not know it: such a body is refused as any unknown field is', async () => {
    const body = { provisioningModel: 'FLEX_START', tpu: { nodeSpec: [{ parent: PARENT, nodeId: 'a', node: {} }] } };
    const answer = await fetch(`${cloud.restEndpoint}/v2/${PARENT}/queuedResources?queuedResourceId=a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.match(await answer.text(), /Unknown name \\"provisioningModel\\" at 'queued_resource': Cannot find field/);
  });

  it('without the REST address of an API that is not at Google’s own, nothing is sent to Google', async () => {
    const { rest: _, ...endpoint } = cloud.tpu;
    const blind = createCloudTpu({ endpoint });
    const answer = await blind.create(flex('flex-blind'));
    await blind.close();
    assert.ok(answer.kind === 'refused' && answer.scope === 'request', JSON.stringify(answer));
    assert.match(answer.message, /tpuRestEndpoint/);
  });

  it('a request past its deadline has waited in vain: the same one may be asked again', async () => {
    await cloud.admin('hold', { state: 'WAITING_FOR_RESOURCES', nameMatches: 'late' });
    for (const plan of [
      flex('late-flex', { validUntilSeconds: 1 }),
      slicePlan('late-spot', 'queued-resources', { validUntilSeconds: 1 }),
    ]) {
      assert.equal((await port.create(plan)).kind, 'accepted');
      const end = await lost(plan);
      assert.ok(end.kind === 'lost' && end.cause === 'refused', JSON.stringify(end));
      assert.equal(end.scope, 'moment');
      assert.match(end.message, /not fulfilled before its deadline/);
    }
  });
});
