import assert from 'node:assert/strict';
import type { Ownership, SliceObservation } from '../../domain/slice.js';
import { sliceCondition } from '../../domain/slice-condition.js';

const OURS: Ownership = { owner: 'o', job: 'j', run: 'r', generation: 1, spec: 's' };
const HOSTS = [{ index: 0, internalIp: '10.0.0.1' }];

type Request = Exclude<SliceObservation['queuedResource'], string>;
type Node = Exclude<SliceObservation['node'], string>;

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
  queuedResource: SliceObservation['queuedResource'],
  found: SliceObservation['node'],
  operation?: SliceObservation['operation'],
): SliceObservation => ({
  at: 0,
  queuedResource,
  node: found,
  ...(operation === undefined ? {} : { operation }),
});

describe('what an observation of a slice is evidence of', () => {
  const cases: Record<string, { observation: SliceObservation; want: string; cause?: string }> = {
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
      cause: 'no-capacity',
    },
    'a request that failed for quota': {
      observation: seen(
        request('FAILED', { error: { code: 8, message: "Quota 'TPUV4s' exhausted. Limit 8 in region r" } }),
        'not-found',
      ),
      want: 'lost',
      cause: 'quota',
    },
    'a request that failed for addresses': {
      observation: seen(request('FAILED', { error: { code: 8, message: 'IN_USE_ADDRESSES limit: 8.0' } }), 'not-found'),
      want: 'lost',
      cause: 'quota',
    },
    'a request that failed for another reason': {
      observation: seen(
        request('FAILED', { error: { code: 13, message: 'an internal error has occurred' } }),
        'not-found',
      ),
      want: 'lost',
      cause: 'failed',
    },
    'a create that failed in its operation': {
      observation: seen('unused', 'not-found', {
        isDone: true,
        error: { code: 8, message: 'There is no more capacity in the zone "z"' },
      }),
      want: 'lost',
      cause: 'no-capacity',
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
      const condition = sliceCondition(observation, OURS);
      assert.deepEqual([condition.kind, condition.kind === 'lost' ? condition.cause : undefined], [want, cause]);
    });
  }

  it('a resource without our labels is foreign', () => {
    const { ownership: _, ...unlabelled } = node('READY');
    assert.equal(sliceCondition(seen('unused', unlabelled), OURS).kind, 'foreign');
  });
});
