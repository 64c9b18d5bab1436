import { lost, type Rows, failed, outOf, retry } from './decisions.js';

const ANSWER = ['answer', 'answer, with fresh signs'] as const;
const WITHIN = { silence: 'within timeouts.unreachable' } as const;
const LONGER = { silence: 'longer' } as const;
/** Other hosts renew their signs: neither the route nor the store is broken. */
const PROVEN = { sign: 'stale', others: 'answer, with fresh signs' } as const;
const STALE = { sign: 'stale', others: ['silent', 'answer'] } as const;
const NO_SIGN = { sign: 'never', others: ANSWER } as const;

const KEEP = { do: 'keep' } as const;
const LOOK = { do: 'look at node' } as const;
const DEAD = lost('failed');

/** A host does not answer, and nothing else speaks against its slice (docs/design.md, "Unknown is not dead"; docs/adr/0046). */
export const HOST_ROWS: Pick<Rows, 'host silent'> = {
  'host silent': [
    { name: 'its sign of life is renewed: it lives', when: { sign: 'fresh' }, decision: KEEP },
    { name: 'a store that does not answer is no evidence', when: { sign: 'store silent' }, decision: KEEP },
    {
      name: 'no sign, and nobody answers: it may be the route',
      when: { sign: 'never', others: 'silent' },
      decision: KEEP,
    },
    { name: 'no sign, for a while', when: { ...NO_SIGN, ...WITHIN }, decision: KEEP },
    { name: 'a stale sign beside which none is renewed, for a while', when: { ...STALE, ...WITHIN }, decision: KEEP },
    // Each look costs one question to the API, so it is asked only if everything else speaks for a loss.
    { name: 'its sign alone went stale', when: { ...PROVEN, node: 'not looked at' }, decision: LOOK },
    { name: 'no sign for too long', when: { ...NO_SIGN, ...LONGER, node: 'not looked at' }, decision: LOOK },
    { name: 'a stale sign for too long', when: { ...STALE, ...LONGER, node: 'not looked at' }, decision: LOOK },
    { name: 'its sign alone went stale; no word of the API', when: { ...PROVEN, node: 'no word' }, decision: KEEP },
    {
      name: 'no sign for too long; no word of the API',
      when: { ...NO_SIGN, ...LONGER, node: 'no word' },
      decision: KEEP,
    },
    {
      name: 'a stale sign for too long; no word of the API',
      when: { ...STALE, ...LONGER, node: 'no word' },
      decision: KEEP,
    },
    // Maintenance may take a host away for a while.
    {
      name: 'the provider warns of the node, for a while',
      when: { ...PROVEN, ...WITHIN, node: 'warned' },
      decision: KEEP,
    },
    {
      name: 'the provider warns of the node for too long',
      when: { ...PROVEN, ...LONGER, node: 'warned' },
      decision: DEAD,
    },
    {
      name: 'it is dead: its sign alone went stale, and the node is READY',
      when: { ...PROVEN, node: 'ready' },
      decision: DEAD,
    },
    {
      name: 'it counts as dead: no sign for too long, while others answer',
      when: { ...NO_SIGN, ...LONGER, node: ['ready', 'warned'] },
      decision: DEAD,
    },
    {
      name: 'it counts as dead: a stale sign for too long',
      when: { ...STALE, ...LONGER, node: ['ready', 'warned'] },
      decision: DEAD,
    },
  ],
};

const EVIDENCE = ['preempted', 'failed', 'deleting', 'missing', 'foreign', 'wrong host key'] as const;
const DIRECT = ['directly', 'directly, a second time'] as const;
/** Refusals that mere repetition does not end. */
const LASTING = ['zone refused for good', 'request refused', 'refused, unknown', 'refused, a right'] as const;

/** Slices that may be lost, and slices that are not ready yet. */
export const SLICE_ROWS: Pick<Rows, 'slice seen' | 'not ready'> = {
  'slice seen': [
    { name: 'the slice is there', when: { condition: ['ready', 'waiting'] }, decision: { do: 'keep' } },
    { name: 'an API that does not answer is no evidence', when: { condition: 'no answer' }, decision: { do: 'keep' } },
    {
      name: 'a listing may lag behind',
      when: { look: 'in the listing', condition: EVIDENCE },
      decision: { do: 'look directly' },
    },
    {
      name: 'one NOT_FOUND is no evidence',
      when: { look: 'directly', condition: 'missing' },
      decision: { do: 'wait, look again' },
    },
    // An address may have gone to another machine before the API says so (marin#6450). Nothing is sent to that machine.
    {
      name: 'a host key of another machine, once',
      when: { look: 'directly', condition: 'wrong host key' },
      decision: { do: 'wait, look again' },
    },
    {
      name: 'a host key of another machine, twice and apart',
      when: { look: 'directly, a second time', condition: 'wrong host key' },
      decision: lost('failed'),
    },
    // Google does not promise to say PREEMPTED (docs/facts.md, "Cloud TPU"): a spot slice that vanished was taken.
    {
      name: 'NOT_FOUND, twice and apart',
      when: { look: 'directly, a second time', condition: 'missing' },
      decision: lost('preempted'),
    },
    {
      name: 'the API says that it was preempted',
      when: { look: DIRECT, condition: 'preempted' },
      decision: lost('preempted'),
    },
    { name: 'the API says that it failed', when: { look: DIRECT, condition: 'failed' }, decision: lost('failed') },
    { name: 'the slice is being deleted', when: { look: DIRECT, condition: 'deleting' }, decision: lost('failed') },
    {
      name: 'its name belongs to another resource',
      when: { look: DIRECT, condition: 'foreign' },
      decision: lost('failed'),
    },
  ],
  'not ready': [
    {
      name: 'a slice was preempted by the provider',
      when: { because: 'preempted', preemption: 'left' },
      decision: retry('preemption', 'lost slices'),
    },
    {
      name: 'a slice was preempted, and the budget is spent',
      when: { because: 'preempted', preemption: 'spent' },
      decision: outOf('preemption'),
    },
    {
      name: 'a slice failed',
      when: { because: 'failed', infrastructure: 'left' },
      decision: retry('infrastructure', 'lost slices'),
    },
    {
      name: 'a slice failed, and the budget is spent',
      when: { because: 'failed', infrastructure: 'spent' },
      decision: outOf('infrastructure'),
    },
    // It is nobody's fault and passes: no budget pays for it, and no number of refusals is final. Droughts last days.
    // A stall in one zone says nothing about another. The whole gang leaves the zone.
    { name: 'timeouts.provision is over', when: { because: 'late' }, decision: { do: 'next zone' } },
    { name: 'the zone has no capacity or quota', when: { because: 'zone refused' }, decision: { do: 'next zone' } },
    {
      name: 'the cloud refuses for a moment',
      when: { because: 'refused for a moment', refusals: 'few' },
      decision: { do: 'ask again' },
    },
    {
      name: 'the moment does not pass in this zone',
      when: { because: 'refused for a moment', refusals: 'many' },
      decision: { do: 'next zone' },
    },
    // A person can end it at any time: rights, credentials, billing.
    {
      name: 'the installation lacks rights',
      when: { because: 'installation refused' },
      decision: { do: 'ask again' },
    },
    {
      name: 'another zone may accept what this one refuses',
      when: { because: LASTING, zones: 'left' },
      decision: { do: 'next zone' },
    },
    {
      name: 'every zone refuses the request of a job that never ran',
      when: { because: 'request refused', zones: 'none', command: 'never ran' },
      decision: failed('infrastructure'),
    },
    // Google's offers change, and a person may fix the rest: the zones are asked in turn until one accepts.
    {
      name: 'every zone refuses what was accepted before',
      when: { because: 'request refused', zones: 'none', command: 'ran before' },
      decision: { do: 'next zone' },
    },
    {
      name: 'every zone refuses, for a reason that may pass',
      when: { because: ['zone refused for good', 'refused, unknown', 'refused, a right'], zones: 'none' },
      decision: { do: 'next zone' },
    },
    { name: 'the lease does not stand', when: { because: 'lease lost' }, decision: { do: 'ask for lease' } },
    { name: 'timeouts.queue is over', when: { because: 'queue time over' }, decision: failed('infrastructure') },
  ],
};
