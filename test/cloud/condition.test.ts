import assert from 'node:assert/strict';
import {
  conditionOf,
  conditionOfAll,
  type Observation,
  type Observations,
} from '../../cloud/machines/cloud-tpu/condition.js';
import type { Ownership } from '../../domain/slice.js';

const OURS: Ownership = { owner: 'o', job: 'j', run: 'r', generation: 1, spec: 's' };
const HOSTS = [{ reach: 'ssh' as const, index: 0, internalIp: '10.0.0.1' }];

type Request = Exclude<Observation['queuedResource'], string>;
type Node = Exclude<Observation['node'], string>;

const request = (state: string, more: Partial<Request> = {}): Request => ({ state, ownership: OURS, ...more });
const node = (state: string, more: Partial<Node> = {}): Node => ({
  state,
  health: 'HEALTHY',
  nodeId: '7',
  hosts: HOSTS,
  ownership: OURS,
  ...more,
});
const seen = (
  queuedResource: Observation['queuedResource'],
  found: Observation['node'],
  operation?: Observation['operation'],
): Observation => ({
  at: 0,
  queuedResource,
  node: found,
  ...(operation === undefined ? {} : { operation }),
});

const waiting = (detail: string, place?: object | 'queued'): object => ({
  ...{ kind: 'waiting', detail, tellAfterMs: 10_000 },
  ...(place && { place }),
});

describe('a request past its deadline', () => {
  const scopeOf = (message: string): unknown => {
    const found = request('FAILED', { validUntil: 0, error: { code: 3, message } });
    const condition = conditionOf(seen(found, 'not-found'), OURS);
    return condition.kind === 'lost' && condition.cause === 'refused' && condition.scope;
  };
  it('failed because nothing came in time, unless Google names a reason that is known', () => {
    assert.equal(scopeOf('words that nobody has seen'), 'moment');
    assert.equal(scopeOf("Quota 'TPUV4s' exhausted. Limit 8 in region r"), 'zone');
  });
});

describe('what an observation of a slice is evidence of', () => {
  const cases: Record<string, { observation: Observation; want: string; cause?: string }> = {
    'a request that failed after its deadline, for a reason that nobody gave': {
      observation: seen(request('FAILED', { validUntil: 0 }), 'not-found'),
      ...{ want: 'lost', cause: 'refused' },
    },
    'a request that failed before its deadline, for a reason that nobody gave': {
      observation: seen(request('FAILED', { validUntil: 1 }), 'not-found'),
      ...{ want: 'lost', cause: 'failed' },
    },
    'a request that waits': { observation: seen(request('WAITING_FOR_RESOURCES'), 'not-found'), want: 'waiting' },
    'the old word for it': { observation: seen(request('ACCEPTED'), 'not-found'), want: 'waiting' },
    'a node that is being made': { observation: seen(request('PROVISIONING'), node('CREATING')), want: 'waiting' },
    'a ready node whose request is not ACTIVE yet': {
      observation: seen(request('PROVISIONING'), node('READY')),
      want: 'waiting',
    },
    'a ready node without hosts': {
      observation: seen(request('ACTIVE'), node('READY', { hosts: [] })),
      want: 'waiting',
    },
    'a ready node that lacks the address of one of its hosts': {
      observation: seen(request('ACTIVE'), node('READY', { hostCount: 2 })),
      want: 'waiting',
    },
    'a ready node with all of its hosts': {
      observation: seen(request('ACTIVE'), node('READY', { hostCount: 1 })),
      want: 'ready',
    },
    'a ready node of an active request': { observation: seen(request('ACTIVE'), node('READY')), want: 'ready' },
    'a ready node without a request (tpu-vm)': { observation: seen('unused', node('READY')), want: 'ready' },
    'a ready node under maintenance: a warning, no loss': {
      observation: seen(request('ACTIVE'), node('READY', { health: 'UNHEALTHY_MAINTENANCE' })),
      want: 'ready',
    },
    'a node that is repaired: no loss': { observation: seen(request('ACTIVE'), node('REPAIRING')), want: 'waiting' },
    'a state that nobody knows: no loss': {
      observation: seen(request('ACTIVE'), node('HIBERNATING')),
      want: 'waiting',
    },
    'a request in a state that nobody knows': { observation: seen(request('PONDERING'), 'not-found'), want: 'waiting' },
    'a preempted node': { observation: seen(request('ACTIVE'), node('PREEMPTED')), want: 'lost', cause: 'preempted' },
    'a terminated node': { observation: seen('unused', node('TERMINATED')), want: 'lost', cause: 'preempted' },
    'a suspended request': { observation: seen(request('SUSPENDED'), 'not-found'), want: 'lost', cause: 'preempted' },
    'a request that failed for capacity': {
      observation: seen(
        request('FAILED', { error: { code: 8, message: 'There is no more capacity in the zone "z"' } }),
        'not-found',
      ),
      want: 'lost',
      cause: 'refused',
    },
    'a request that failed for quota': {
      observation: seen(
        request('FAILED', { error: { code: 8, message: "Quota 'TPUV4s' exhausted. Limit 8 in region r" } }),
        'not-found',
      ),
      want: 'lost',
      cause: 'refused',
    },
    'a request that failed for addresses': {
      observation: seen(request('FAILED', { error: { code: 8, message: 'IN_USE_ADDRESSES limit: 8.0' } }), 'not-found'),
      want: 'lost',
      cause: 'refused',
    },
    'a request that failed for another reason': {
      observation: seen(
        request('FAILED', { error: { code: 13, message: 'an internal error has occurred' } }),
        'not-found',
      ),
      want: 'lost',
      cause: 'refused',
    },
    'a request that failed without a word': {
      observation: seen(request('FAILED'), 'not-found'),
      want: 'lost',
      cause: 'failed',
    },
    'a create that failed in its operation': {
      observation: seen('unused', 'not-found', {
        isDone: true,
        error: { code: 8, message: 'There is no more capacity in the zone "z"' },
      }),
      want: 'lost',
      cause: 'refused',
    },
    'nothing of the name': { observation: seen('not-found', 'not-found'), want: 'missing' },
    'an active request without its node': { observation: seen(request('ACTIVE'), 'not-found'), want: 'missing' },
    'a request that is being deleted': { observation: seen(request('DELETING'), 'not-found'), want: 'deleting' },
    'a node that is being deleted': { observation: seen('unused', node('DELETING')), want: 'deleting' },
    'a node of another run of the job': {
      observation: seen('unused', node('READY', { ownership: { ...OURS, run: 'other' } })),
      want: 'foreign',
    },
    'a preempted node of somebody else': {
      observation: seen('unused', node('PREEMPTED', { ownership: { ...OURS, owner: 'other' } })),
      want: 'foreign',
    },
  };
  for (const [name, { observation, want, cause }] of Object.entries(cases)) {
    it(`${name}: ${cause ? `${want}, ${cause}` : want}`, () => {
      const condition = conditionOf(observation, OURS);
      assert.deepEqual([condition.kind, condition.kind === 'lost' ? condition.cause : undefined], [want, cause]);
    });
  }

  const { ownership: _, ...unlabelled } = node('READY');
  const words: Record<string, { observation: Observation; want: object }> = {
    'somebody else': {
      observation: seen('unused', unlabelled),
      want: { kind: 'foreign', message: 'the node of this name belongs to somebody else' },
    },
    'a preempted node': {
      observation: seen(request('ACTIVE'), node('PREEMPTED')),
      want: { kind: 'lost', cause: 'preempted', message: 'the node is PREEMPTED' },
    },
    'a stopped node': {
      observation: seen('unused', node('STOPPED')),
      want: { kind: 'lost', cause: 'preempted', message: 'the node is STOPPED' },
    },
    'a request that is being suspended': {
      observation: seen(request('SUSPENDING'), node('READY')),
      want: { kind: 'lost', cause: 'preempted', message: 'the queued resource is SUSPENDING' },
    },
    'a request that failed without a word': {
      observation: seen(request('FAILED'), 'not-found'),
      want: { kind: 'lost', cause: 'failed', message: 'the queued resource is FAILED: no reason given' },
    },
    'a request that failed with an empty word': {
      observation: seen(request('FAILED', { error: { code: 13, message: '' } }), 'not-found'),
      want: { kind: 'lost', cause: 'failed', message: 'the queued resource is FAILED: no reason given' },
    },
    'a request that was accepted': {
      observation: seen(request('ACCEPTED'), 'not-found'),
      want: waiting('Google has accepted the request, and looks for chips (ACCEPTED)', 'queued'),
    },
    'a request in a state that nobody knows': {
      observation: seen(request('PONDERING'), 'not-found'),
      want: waiting('PONDERING'),
    },
    'a node that is made': { observation: seen('unused', node('CREATING')), want: waiting('node CREATING') },
    'a healthy node': {
      observation: seen('unused', node('READY')),
      want: { kind: 'ready', uid: '7', hosts: HOSTS },
    },
    'a node of unknown health': {
      observation: seen('unused', node('READY', { health: '' })),
      want: { kind: 'ready', uid: '7', hosts: HOSTS },
    },
    'a node whose create failed and which is there': {
      observation: seen('unused', node('READY'), { isDone: true, error: { code: 13, message: 'odd' } }),
      want: { kind: 'ready', uid: '7', hosts: HOSTS },
    },
  };
  for (const [name, { observation, want }] of Object.entries(words))
    it(`in words, ${name}`, () => assert.deepEqual(conditionOf(observation, OURS), want));

  it('an active request without its node is still something to remove', () => {
    assert.deepEqual(conditionOf(seen(request('ACTIVE'), 'not-found'), OURS), { kind: 'missing', isRequestLeft: true });
    assert.deepEqual(conditionOf(seen('not-found', 'not-found'), OURS), { kind: 'missing' });
  });
  it('an owner who names no generation and no spec finds every one of its job', () => {
    const owner = { owner: 'o', job: 'j', run: 'r' };
    const found = seen('unused', node('READY', { ownership: { ...OURS, generation: 9, spec: 'x' } }));
    assert.equal(conditionOf(found, owner).kind, 'ready');
    assert.equal(conditionOf(found, OURS).kind, 'foreign');
    assert.equal(conditionOf(found, { ...owner, run: 'later' }).kind, 'foreign');
  });
});

/** docs/adr/0054 */
describe('what the observations of a request for several slices are evidence of', () => {
  const OTHER: Ownership = { ...OURS, owner: 'x' };
  const READY = node('READY');
  const both = (
    queuedResource: Observation['queuedResource'],
    ...nodes: readonly Observation['node'][]
  ): Observations => nodes.map((each) => seen(queuedResource, each)) as unknown as Observations;
  const left = { kind: 'missing', isRequestLeft: true };
  const cases: Record<string, { observed: Observations; want: object }> = {
    'both READY': {
      observed: both(request('ACTIVE'), READY, node('READY', { nodeId: '8', health: 'UNHEALTHY_MAINTENANCE' })),
      want: {
        kind: 'ready',
        uid: '7',
        hosts: HOSTS,
        others: [{ uid: '8', hosts: HOSTS }],
        warning: 'UNHEALTHY_MAINTENANCE',
      },
    },
    'both READY, of a flex-start request: it ends when the run of the first that was made is over': {
      observed: both(
        request('ACTIVE', { runSeconds: 60 }),
        node('READY', { createdAt: 5_000 }),
        node('READY', { nodeId: '8', createdAt: 4_000 }),
      ),
      want: { kind: 'ready', uid: '7', hosts: HOSTS, others: [{ uid: '8', hosts: HOSTS }], endsAt: 64_000 },
    },
    'both READY, of another request': {
      observed: both(request('ACTIVE'), node('READY', { createdAt: 5_000 }), node('READY', { nodeId: '8' })),
      want: { kind: 'ready', uid: '7', hosts: HOSTS, others: [{ uid: '8', hosts: HOSTS }] },
    },
    'both READY and well': {
      observed: both(request('ACTIVE'), READY, node('READY', { nodeId: '8' })),
      want: { kind: 'ready', uid: '7', hosts: HOSTS, others: [{ uid: '8', hosts: HOSTS }] },
    },
    'one READY, the other being made': {
      observed: both(request('PROVISIONING'), READY, node('CREATING')),
      want: waiting('Google has chosen chips for it, and makes its nodes (PROVISIONING)', { granted: 'PROVISIONING' }),
    },
    'one READY, the other lacks a host': {
      observed: both(request('ACTIVE'), READY, node('READY', { hostCount: 2 })),
      want: {
        kind: 'waiting',
        detail: 'node 1 READY, with addresses of 1 of its 2 hosts',
        isIncomplete: true,
      },
    },
    'one READY, the other repaired: no loss': {
      observed: both(request('ACTIVE'), READY, node('REPAIRING')),
      want: waiting('node 1 REPAIRING'),
    },
    'a request that waits': {
      observed: both(request('WAITING_FOR_RESOURCES'), 'not-found', 'not-found'),
      want: waiting('Google has queued it until there are chips (WAITING_FOR_RESOURCES)', 'queued'),
    },
    'one READY, the other preempted': {
      observed: both(request('ACTIVE'), READY, node('PREEMPTED')),
      want: { kind: 'lost', cause: 'preempted', message: 'node 1 is PREEMPTED' },
    },
    'both READY, the request SUSPENDED': {
      observed: both(request('SUSPENDED'), READY, READY),
      want: { kind: 'lost', cause: 'preempted', message: 'the queued resource is SUSPENDED' },
    },
    'one READY, the other missing': { observed: both(request('ACTIVE'), READY, 'not-found'), want: left },
    'nothing but the request': { observed: both(request('ACTIVE'), 'not-found', 'not-found'), want: left },
    'nothing but one node': { observed: both('not-found', 'not-found', READY), want: left },
    'one node being deleted, the other not': { observed: both('not-found', node('DELETING'), READY), want: left },
    'all that is left being deleted': {
      observed: both(request('DELETING'), node('DELETING'), 'not-found'),
      want: { kind: 'deleting' },
    },
    nothing: { observed: both('not-found', 'not-found', 'not-found'), want: { kind: 'missing' } },
    "a node of somebody else's beside ours": {
      observed: both('not-found', READY, node('READY', { ownership: OTHER })),
      want: left,
    },
    "nothing but a node of somebody else's": {
      observed: both('not-found', 'not-found', node('READY', { ownership: OTHER })),
      want: { kind: 'foreign', message: 'the node of this name belongs to job j, run r' },
    },
    "somebody else's request": {
      observed: both(request('ACTIVE', { ownership: OTHER }), READY, 'not-found'),
      want: { kind: 'foreign', message: 'the queued resource of this name belongs to job j, run r' },
    },
  };
  for (const [name, { observed, want }] of Object.entries(cases))
    it(name, () => assert.deepEqual(conditionOfAll(observed, OURS), want));
});
