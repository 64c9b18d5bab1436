import { lost, type Rows } from './decisions.js';

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
