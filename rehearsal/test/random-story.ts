import fc from 'fast-check';
import type { JsonObject } from '../json.js';
import type { SteppedRehearsal } from './stepped-rehearsal.js';
import { PARENT } from './stepped-rehearsal.js';

/** One call of the API, one verb of the admin interface, a script, or time. Plain, so that a story that failed can be read. */
export type Deed =
  | { readonly kind: 'call'; readonly method: string; readonly request: JsonObject }
  | { readonly kind: 'admin'; readonly verb: string; readonly body: JsonObject }
  | { readonly kind: 'script'; readonly text: string }
  | { readonly kind: 'step'; readonly ms: number };

export async function doDeed(rehearsal: SteppedRehearsal, deed: Deed): Promise<string> {
  switch (deed.kind) {
    case 'call':
      return (await rehearsal.call(deed.method, deed.request)).code;
    case 'admin':
      return String(rehearsal.admin(deed.verb, deed.body).status);
    case 'script':
      rehearsal.script(deed.text);
      return 'OK';
    case 'step':
      rehearsal.step(deed.ms);
      return 'OK';
  }
}

// Few names, so that calls meet each other's resources; some that are none.
const id = fc.constantFrom('a', 'b', 'c', 'd');
const type = fc.constantFrom('v5litepod-8', 'v5litepod-8', 'v5litepod-16', 'v4-8', 'v4-16', 'v5litepod-7');
const runtimeVersion = 'v2-alpha-tpuv5-lite';
const ms = fc.constantFrom(0, 1, 100, 1000, 60_000, 600_000);
const chips = fc.constantFrom(0, 8, 16, 24, 40);
const nodeName = id.map((name) => `${PARENT}/nodes/${name}`);
const requestName = id.map((name) => `${PARENT}/queuedResources/${name}`);

const call = (method: string, request: fc.Arbitrary<JsonObject>): fc.Arbitrary<Deed> =>
  request.map((each) => ({ kind: 'call', method, request: each }));
const admin = (verb: string, body: fc.Arbitrary<object>): fc.Arbitrary<Deed> =>
  body.map((each) => ({ kind: 'admin', verb, body: JSON.parse(JSON.stringify(each)) as JsonObject }));

const sale = fc.constantFrom<JsonObject>({}, { spot: {} }, { spot: {} }, { guaranteed: { reserved: true } });
const policy = fc.constantFrom<JsonObject>(
  {},
  {},
  { queueingPolicy: { validUntilDuration: '60s' } },
  {
    queueingPolicy: { validAfterDuration: '30s' },
  },
);

const createQueuedResource = fc
  .record({ id, nodeId: id, type, sale, policy, slices: fc.constantFrom(1, 1, 1, 2, 3) })
  .map(({ id: queuedResourceId, nodeId, type: acceleratorType, sale: sold, policy: queueing, slices }): JsonObject => {
    const node = { acceleratorType, runtimeVersion };
    const which = slices === 1 ? { nodeId } : { multisliceParams: { nodeCount: slices } };
    const nodeSpec = [{ parent: PARENT, ...which, node }];
    return { parent: PARENT, queuedResourceId, queuedResource: { tpu: { nodeSpec }, ...sold, ...queueing } };
  });

const createNode = fc
  .record({ id, type, scheduling: fc.constantFrom<JsonObject>({}, {}, { spot: true }, { preemptible: true }) })
  .map(({ id: nodeId, type: acceleratorType, scheduling }): JsonObject => {
    const schedulingConfig = Object.keys(scheduling).length === 0 ? {} : { schedulingConfig: scheduling };
    return { parent: PARENT, nodeId, node: { acceleratorType, runtimeVersion, ...schedulingConfig } };
  });

const apiDeeds = [
  { weight: 8, arbitrary: call('CreateQueuedResource', createQueuedResource) },
  { weight: 4, arbitrary: call('DeleteQueuedResource', fc.record({ name: requestName, force: fc.boolean() })) },
  { weight: 4, arbitrary: call('CreateNode', createNode) },
  { weight: 2, arbitrary: call('DeleteNode', fc.record({ name: nodeName })) },
  { weight: 3, arbitrary: call('StopNode', fc.record({ name: nodeName })) },
  { weight: 4, arbitrary: call('StartNode', fc.record({ name: nodeName })) },
  { weight: 1, arbitrary: call('ResetQueuedResource', fc.record({ name: requestName })) },
  { weight: 1, arbitrary: call('PerformMaintenance', fc.record({ name: nodeName })) },
  { weight: 1, arbitrary: call('SimulateMaintenanceEvent', fc.record({ name: nodeName })) },
  {
    weight: 1,
    arbitrary: call(
      'UpdateNode',
      nodeName.map((name) => ({ node: { name, labels: { of: name } }, updateMask: 'labels' })),
    ),
  },
  { weight: 1, arbitrary: call('GetNode', fc.record({ name: fc.oneof(nodeName, fc.string()) })) },
  {
    weight: 1,
    arbitrary: call('ListNodes', fc.record({ parent: fc.constantFrom(PARENT, 'projects/p/locations/-', '') })),
  },
  { weight: 1, arbitrary: call('CreateNode', fc.dictionary(fc.string(), fc.string())) },
];

const zone = 'us-central1-a';
const generation = fc.constantFrom('v5litepod', 'v4');
const tier = fc.constantFrom('spot', 'on-demand', 'reserved');
const optional = { requiredKeys: ['name'] as ['name'] };

const adminDeeds = [
  {
    weight: 4,
    arbitrary: admin(
      'preempt',
      fc.record({ name: id, notice: fc.boolean(), mode: fc.constantFrom('preempted', 'vanish') }, optional),
    ),
  },
  { weight: 2, arbitrary: admin('warn', fc.record({ name: id, clearAfterMs: ms }, optional)) },
  { weight: 1, arbitrary: admin('maintenance', fc.record({ name: id, kind: fc.constantFrom('announce', 'repair') })) },
  { weight: 2, arbitrary: admin('fail-request', fc.record({ name: id })) },
  { weight: 2, arbitrary: admin('send-back', fc.record({ name: id })) },
  {
    weight: 2,
    arbitrary: admin(
      'hold',
      fc.record({ state: fc.constantFrom('WAITING_FOR_RESOURCES', 'PROVISIONING', 'DELETING') }),
    ),
  },
  { weight: 3, arbitrary: admin('release', fc.constant({})) },
  {
    weight: 2,
    arbitrary: admin(
      'refuse',
      fc.record({
        method: fc.constantFrom('*', 'Create*', 'GetNode'),
        code: fc.constantFrom('UNAVAILABLE', 8),
        times: fc.constantFrom(1, 3),
        afterEffect: fc.boolean(),
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: admin(
      'capacity',
      fc.record(
        { zone: fc.constant(zone), generation, chips, tier },
        { requiredKeys: ['zone', 'generation', 'chips'] },
      ),
    ),
  },
  { weight: 2, arbitrary: admin('quota', fc.record({ zone: fc.constant(zone), generation, chips })) },
  {
    weight: 2,
    arbitrary: admin(
      'configure',
      fc.record(
        {
          queueMs: fc.record({ min: fc.constant(0), max: ms }),
          provisioningMs: ms,
          deletingMs: ms,
          suspendingMs: ms,
          stoppingMs: ms,
          startingMs: ms,
          quotaRefusal: fc.constantFrom('call', 'failed'),
          queuedState: fc.constantFrom('WAITING_FOR_RESOURCES', 'ACCEPTED'),
          othersOnPreemption: fc.constantFrom('kept', 'preempted'),
          recycleAddresses: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
    ),
  },
  { weight: 1, arbitrary: admin('list-lag', fc.record({ lagMs: ms })) },
  { weight: 1, arbitrary: admin('preempt', fc.dictionary(fc.string(), fc.string())) },
  { weight: 1, arbitrary: admin('configure', fc.record({ queueMs: fc.integer(), capacity: fc.constant({ x: 1 }) })) },
  { weight: 1, arbitrary: fc.constant<Deed>({ kind: 'admin', verb: 'clock', body: { stepMs: 1000 } }) },
];

const script: fc.Arbitrary<Deed> = fc.integer({ min: 0, max: 1000 }).map((seed) => ({
  kind: 'script',
  text: `version: 1
seed: ${seed}
events:
  - {at: 10s, jitter: 1m, repeat: 3, every: 2m, chance: 0.7, preempt: {node: '[ab]', notice: 30s, which: one}}
  - {when: {queuedResource: '.*', state: SUSPENDED, for: 20s}, repeat: 2, refuse: {method: 'Create*', code: ABORTED, times: 1}}
  - {at: 1m, stall: {state: PROVISIONING, for: 5m}}
  - {at: 2m, capacity: {${zone}/v5litepod: 16}}
`,
}));

const deedAbout = (method: string, name: string): Deed => ({
  kind: 'call',
  method,
  request: { name: `${PARENT}/nodes/${name}` },
});

/** What calls drawn one by one seldom come to: a node that is stopped and started again, others being made meanwhile. */
const stoppedAndStarted = fc
  .record({ name: id, others: fc.array(call('CreateNode', createNode), { maxLength: 3 }), startingMs: ms })
  .map(({ name, others, startingMs }): readonly Deed[] => {
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion };
    return [
      { kind: 'admin', verb: 'configure', body: { startingMs } },
      { kind: 'call', method: 'CreateNode', request: { parent: PARENT, nodeId: name, node } },
      { kind: 'step', ms: 1000 },
      deedAbout('StopNode', name),
      { kind: 'step', ms: 1000 },
      deedAbout('StartNode', name),
      ...others,
      { kind: 'step', ms: 1000 },
    ];
  });

/** .. and a Spot slice that is preempted, whose husks are deleted before its name is used again, or not. */
const preemptedAndMadeAgain = fc
  .record({
    name: id,
    mode: fc.constantFrom('preempted', 'vanish'),
    deletes: fc.boolean(),
    others: createQueuedResource,
  })
  .map(({ name, mode, deletes, others }): readonly Deed[] => {
    const node = { acceleratorType: 'v5litepod-8', runtimeVersion };
    const queuedResource = { tpu: { nodeSpec: [{ parent: PARENT, nodeId: name, node }] }, spot: {} };
    const create: Deed = {
      kind: 'call',
      method: 'CreateQueuedResource',
      request: { parent: PARENT, queuedResourceId: name, queuedResource },
    };
    const remove: Deed = {
      kind: 'call',
      method: 'DeleteQueuedResource',
      request: { name: `${PARENT}/queuedResources/${name}`, force: true },
    };
    return [
      create,
      { kind: 'step', ms: 1000 },
      { kind: 'admin', verb: 'preempt', body: { name, mode } },
      { kind: 'step', ms: 1000 },
      { kind: 'call', method: 'CreateQueuedResource', request: others },
      ...(deletes ? [remove, { kind: 'step', ms: 1000 } as const] : []),
      create,
    ];
  });

const alone = (deed: fc.Arbitrary<Deed>): fc.Arbitrary<readonly Deed[]> => deed.map((each) => [each]);

/** Time passes often: else nothing comes to anything. */
export const story: fc.Arbitrary<readonly Deed[]> = fc
  .array(
    fc.oneof(
      ...[...apiDeeds, ...adminDeeds].map(({ weight, arbitrary }) => ({ weight, arbitrary: alone(arbitrary) })),
      { weight: 1, arbitrary: alone(script) },
      { weight: 2, arbitrary: stoppedAndStarted },
      { weight: 2, arbitrary: preemptedAndMadeAgain },
      { weight: 16, arbitrary: alone(ms.map((each): Deed => ({ kind: 'step', ms: each }))) },
    ),
    { minLength: 5, maxLength: 60, size: 'max' },
  )
  .map((parts) => parts.flat());
