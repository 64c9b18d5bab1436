import { lease, pool, project, request } from './builders.js';
import { decideEach, MINUTE, minutesAgo, NOW, withRules } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const own = { project: 'own' };
const held = { startedAt: minutesAgo(5) };
const gang = request('gang', v4(12), { submittedAt: minutesAgo(90) });
const reserved = { reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(30) }] };

describe('quota: rule 8, reservations', () => {
  decideEach({
    'a gang that has waited its aging time gets one, and small jobs go past it no more': {
      config: pool(v4(16)),
      requests: [gang, request('small', v4(1), { submittedAt: minutesAgo(1) })],
      leases: [lease('old', v4(8), held)],
      after: { reservations: [{ id: 'gang', tier: 0, madeAt: NOW }] },
      nextIn: 60,
    },
    'before that they do': {
      config: pool(v4(16)),
      requests: [{ ...gang, submittedAt: minutesAgo(59) }, request('small', v4(1), { submittedAt: minutesAgo(1) })],
      leases: [lease('old', v4(8), held)],
      grants: ['small@0'],
      after: { reservations: [] },
      nextIn: 1,
    },
    'the wait counts from when it asked for this lease': {
      config: pool(v4(16)),
      requests: [{ ...gang, waitingSince: minutesAgo(10) }],
      leases: [lease('old', v4(8), held)],
      after: { reservations: [] },
    },
    'it takes only what it needs': {
      config: pool(v4(32)),
      requests: [gang, request('small', v4(4))],
      leases: [lease('old', v4(24), held)],
      memory: reserved,
    },
    'what is left over is used': {
      config: pool({ v4: 32, v6e: 8 }),
      requests: [
        request('gang', { v4: 4, v6e: 8 }, { submittedAt: minutesAgo(90) }),
        request('large', v4(21), { submittedAt: minutesAgo(1) }),
        request('small', v4(20), { submittedAt: minutesAgo(1) }),
      ],
      leases: [lease('old', { v4: 8, v6e: 4 }, held)],
      grants: ['small@0'],
      after: { reservations: [{ id: 'gang', tier: 0, madeAt: NOW }] },
    },
    'a full one starts, as one that came from a reservation': {
      config: pool(v4(16)),
      requests: [gang],
      leases: [lease('old', v4(4), held)],
      memory: reserved,
      grants: ['gang@0 reserved'],
      after: { reservations: [] },
    },
    'one per type and tier: the oldest': {
      config: pool(v4(16)),
      requests: [gang, request('older', v4(12), { submittedAt: minutesAgo(91) })],
      leases: [lease('old', v4(8), held)],
      after: { reservations: [{ id: 'older', tier: 0, madeAt: NOW }] },
    },
    'one that is not filled in time is dissolved, and its aging starts anew': {
      config: pool(v4(16)),
      requests: [gang, request('small', v4(1), { submittedAt: minutesAgo(1) })],
      leases: [lease('old', v4(8), held)],
      memory: { reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(60) }] },
      grants: ['small@0'],
      after: { reservations: [], dissolved: { gang: NOW } },
      nextIn: 60,
    },
    'not in the moment in which its chips are free': {
      config: pool(v4(16)),
      requests: [gang],
      leases: [lease('old', v4(4), held)],
      memory: { reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(60) }] },
      grants: ['gang@0 reserved'],
    },
    'who is in quota needs none': {
      config: pool(v4(16), project('own', v4(12))),
      requests: [{ ...gang, ...own }],
      leases: [lease('old', v4(8), held)],
      memory: reserved,
      after: { reservations: [] },
    },
    'it does not pass the borrowing limit': {
      config: withRules(pool(v4(16), project('own', v4(2))), { borrowingLimits: { own: v4(11) } }),
      requests: [{ ...gang, ...own }],
      leases: [lease('old', v4(8), held)],
      after: { reservations: [] },
    },
    'a full one does not start past what its project may borrow now: it goes on collecting': {
      config: withRules(pool(v4(16), project('own')), { borrowingLimits: { own: v4(12) } }),
      requests: [{ ...gang, ...own }, request('small', v4(1))],
      leases: [lease('borrowed', v4(4), { ...held, ...own })],
      memory: reserved,
      after: reserved,
    },
    'a full one does not start on what another project keeps for itself now: it goes on collecting': {
      config: withRules(pool(v4(16), project('lender', v4(8))), { lendingLimits: { lender: v4(4) } }),
      requests: [gang],
      leases: [lease('old', v4(4), held)],
      memory: reserved,
      after: reserved,
    },
    'a full one that limits keep from starting is dissolved when its time is up': {
      config: withRules(pool(v4(16), project('own')), { borrowingLimits: { own: v4(12) } }),
      requests: [{ ...gang, ...own }],
      leases: [lease('borrowed', v4(4), { ...held, ...own })],
      memory: { reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(60) }] },
      after: { reservations: [], dissolved: { gang: NOW } },
    },
    'of those who are gone nothing is remembered': {
      config: pool(v4(16)),
      requests: [request('other', v4(1))],
      memory: {
        ...reserved,
        dissolved: { gang: minutesAgo(1) },
        heldBack: { gang: { ms: 1 } },
        winners: ['gang'],
      },
      grants: ['other@0'],
      after: { reservations: [], dissolved: {}, heldBack: {}, winners: [] },
    },
  });
});

describe('quota: rule 8, in-quota demand is held back by reservations', () => {
  const config = pool(v4(16), project('own', v4(8)));
  const requests = [gang, request('a', v4(8), own)];
  const leases = [lease('guest', v4(8), held)];
  decideEach({
    'for a while, where nobody may be evicted: its clock runs': {
      config,
      requests,
      leases,
      memory: reserved,
      after: { heldBack: { a: { ms: 0, since: NOW } } },
      nextIn: 5,
    },
    'not where borrowers have its chips: they give them back, and what has collected is left alone': {
      config,
      requests,
      leases: [lease('guest', v4(8), { startedAt: minutesAgo(60) })],
      memory: reserved,
      preemptions: ['guest for a'],
      after: { heldBack: { a: { ms: 0, since: NOW } }, ...reserved },
    },
    'the clock goes on': {
      config,
      requests,
      leases,
      memory: { ...reserved, heldBack: { a: { ms: 40 * MINUTE, since: minutesAgo(10) } } },
      after: { heldBack: { a: { ms: 40 * MINUTE, since: minutesAgo(10) } } },
      nextIn: 5,
    },
    'and runs on while it waits for those whom their minimum runtime protects': {
      config,
      requests: [requests[1] ?? gang],
      leases: [lease('guest', v4(12), held)],
      memory: { heldBack: { a: { ms: 40 * MINUTE } } },
      after: { heldBack: { a: { ms: 40 * MINUTE, since: NOW } } },
    },
    'and for one that starts from a reservation in this very pass': {
      config,
      requests,
      leases: [],
      memory: reserved,
      grants: ['gang@0 reserved'],
      after: { heldBack: { a: { ms: 0, since: NOW } } },
    },
    'and stops while it is not in quota': {
      config,
      requests: [requests[1] ?? gang],
      leases: [lease('its-own', v4(8), { ...held, ...own }), lease('guest', v4(8), held)],
      memory: { heldBack: { a: { ms: 40 * MINUTE, since: minutesAgo(10) } } },
      after: { heldBack: { a: { ms: 50 * MINUTE } } },
    },
    'when it is used up, what has collected is its own': {
      config,
      requests,
      leases,
      memory: { ...reserved, heldBack: { a: { ms: 60 * MINUTE } } },
      grants: ['a@0'],
      after: { heldBack: {} },
    },
    'one that would need victims beside what has collected is held back too': {
      config: pool(v4(16), project('own', v4(8)), project('other', v4(8))),
      requests,
      leases: [
        lease('guest', v4(4), { startedAt: minutesAgo(60) }),
        lease('its-own', v4(8), { startedAt: minutesAgo(60), project: 'other' }),
      ],
      memory: reserved,
      after: { heldBack: { a: { ms: 0, since: NOW } } },
    },
    'one for which victims do without what has collected is not': {
      config: pool(v4(24), project('own', v4(16))),
      requests: [{ ...gang, units: v4(24) }, request('a', v4(16), own)],
      leases: [lease('guest', v4(20), { startedAt: minutesAgo(60) })],
      memory: reserved,
      preemptions: ['guest for a'],
    },
  });
});
