import assert from 'node:assert/strict';
import { conditionOf, type Observation } from '../../cloud/machines/cloud-tpu/condition.js';
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

describe('what an observation of a slice is evidence of', () => {
  const cases: Record<string, { observation: Observation; want: string; cause?: string }> = {
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
  it('a resource without our labels is foreign', () => {
    const { ownership: _, ...unlabelled } = node('READY');
    assert.equal(conditionOf(seen('unused', unlabelled), OURS).kind, 'foreign');
  });
});
