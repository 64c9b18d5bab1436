import assert from 'node:assert/strict';
import { passOf } from '../../quota/decide.js';
import { NO_MEMORY } from '../../quota/quota-config.js';
import type { Pool } from '../../quota/quota-config.js';
import type { Verdict } from '../../quota/decision/verdict.js';
import { lease, pool, project, request } from './builders.js';
import { MINUTE, minutesAgo, NOW, withRules } from './decision-table.js';

const v4 = (units: number): { v4: number } => ({ v4: units });
const own = { project: 'own', submittedAt: minutesAgo(1) };
const young = { startedAt: minutesAgo(4) };
const config = pool(v4(16), project('own', v4(8)));
const gang = request('gang', v4(12), { submittedAt: minutesAgo(90) });
const collecting = { ...NO_MEMORY, reservations: [{ id: 'gang', tier: 0, madeAt: minutesAgo(30) }] };
const cold = { type: 'v4', tier: 0, zone: 'dry', failures: 1, until: NOW + 5 * MINUTE };

/** Of request `a`, if not named. */
function verdict(of: Pool, id = 'a'): Omit<Verdict, 'request'> {
  const found = passOf(of, NOW).verdictOf(id);
  assert.ok(found, `${id} waits`);
  const { request: _, ...rest } = found;
  return rest;
}

const asked = [request('a', v4(8), own)];
const outcomes: Record<string, { pool: Pool; id?: string; want: Verdict['outcome'] }> = {
  granted: {
    pool: { config, requests: asked, leases: [] },
    want: { kind: 'granted', tier: 0, isFromReservation: false },
  },
  'claimed, with its victims': {
    pool: { config, requests: asked, leases: [lease('guest', v4(16))] },
    want: { kind: 'claimed', tier: 0, targets: ['guest'] },
  },
  'waiting for the first of those who are protected': {
    pool: {
      config,
      requests: asked,
      leases: [lease('g1', v4(8), young), lease('g2', v4(8), { startedAt: minutesAgo(2) })],
    },
    want: { kind: 'protected', tier: 0, by: ['g1', 'g2'], until: NOW + 6 * MINUTE },
  },
  'waiting for what it makes borrowed itself': {
    pool: {
      config: pool(v4(8), project('own', v4(8))),
      requests: [request('a', v4(8), { ...own, priority: 1 })],
      leases: [lease('slow', v4(4), { ...own, ...young, priority: 5 }), lease('slower', v4(4), { ...own, ...young })],
    },
    want: { kind: 'protected', tier: 0, by: ['slower', 'slow'], until: NOW + 6 * MINUTE },
  },
  'held back, and by whom': {
    pool: { config, requests: [...asked, gang], leases: [lease('guest', v4(8), young)], memory: collecting },
    want: { kind: 'held-back', tier: 0, by: ['gang'], until: NOW + 60 * MINUTE },
  },
  'collecting, and until when': {
    pool: { config, requests: [gang], leases: [lease('guest', v4(8), young)], memory: collecting },
    id: 'gang',
    want: { kind: 'collecting', tier: 0, madeAt: minutesAgo(30), until: NOW + 30 * MINUTE },
  },
  frozen: { pool: { config, requests: asked, leases: [], isFrozen: true }, want: { kind: 'frozen' } },
  'passed over': {
    pool: { config, requests: [request('a', v4(12), { submittedAt: minutesAgo(1) })], leases: [lease('guest', v4(8))] },
    want: { kind: 'passed-over' },
  },
};

const oneGuest = [lease('guest', v4(8), { startedAt: minutesAgo(60) })];
const late = { submittedAt: minutesAgo(1) };
const problems: Record<string, { pool: Pool; want: Verdict['problems'] }> = {
  'too few units are free': {
    pool: { config, requests: [request('a', v4(12), late)], leases: oneGuest },
    want: [{ kind: 'room', tier: 0, type: 'v4', asked: 12, free: 8, reserved: 0, claimed: 0, draining: 0 }],
  },
  'others wait for what is free, and for what drains': {
    pool: {
      config: pool(v4(16), project('own', v4(16))),
      requests: [request('a', v4(4), late), request('first', v4(16), own)],
      leases: [lease('guest', v4(12), { state: 'draining' })],
    },
    want: [{ kind: 'room', tier: 0, type: 'v4', asked: 4, free: 0, reserved: 0, claimed: 16, draining: 12 }],
  },
  'another pricing, and a tier that is too small': {
    pool: {
      config: withRules(pool([v4(16), v4(8)]), { tiers: [{ pricing: 'reserved' }] }),
      requests: [request('a', v4(12), { ...late, pricing: 'spot' })],
      leases: [],
    },
    want: [
      { kind: 'pricing', tier: 0 },
      { kind: 'size', tier: 1, type: 'v4', has: 8 },
    ],
  },
  'the borrowing limit': {
    pool: {
      config: withRules(config, { borrowingLimits: { own: v4(2) } }),
      requests: [request('a', v4(4), own)],
      leases: [lease('its', v4(8), own)],
    },
    want: [{ kind: 'borrowing-limit', tier: 0, type: 'v4', borrowed: 0, limit: 2 }],
  },
  'the lending limit': {
    pool: {
      config: withRules(config, { lendingLimits: { own: v4(0) } }),
      requests: [request('a', v4(4), late)],
      leases: oneGuest,
    },
    want: [{ kind: 'lending-limit', tier: 0, type: 'v4', kept: 8 }],
  },
  'a cool-down, and others who do not cool down': {
    pool: {
      config,
      requests: [
        request('a', v4(4), { ...late, zones: ['dry'] }),
        request('large', v4(12), { ...late, zones: ['wet'] }),
      ],
      leases: oneGuest,
      memory: { ...NO_MEMORY, coolDowns: [cold] },
    },
    want: [
      { kind: 'cool-down', tier: 0, until: cold.until },
      { kind: 'after-others', tier: 0, type: 'v4' },
    ],
  },
};

describe('quota: rule 9, a verdict', () => {
  for (const [name, { pool: of, id, want }] of Object.entries(outcomes)) {
    it(`outcome: ${name}`, () => assert.deepEqual({ ...verdict(of, id).outcome }, want));
  }
  for (const [name, { pool: of, want }] of Object.entries(problems)) {
    it(`problem: ${name}`, () => assert.deepEqual(verdict(of).problems, want));
  }
  it('positions count those who go on waiting: in quota, with a reservation, best effort, cooling down', () => {
    const pass = passOf(
      {
        config,
        requests: [
          request('cold', v4(16), { ...late, zones: ['dry'] }),
          request('best', v4(16), { ...late, zones: ['wet'] }),
          gang,
          ...asked,
        ],
        leases: [lease('guest', v4(16), young)],
        memory: { ...collecting, coolDowns: [cold] },
      },
      NOW,
    );
    assert.deepEqual(
      pass.line.map(({ id }) => id),
      ['a', 'gang', 'best', 'cold'],
    );
    assert.deepEqual(
      pass.line.map(({ id }) => pass.verdictOf(id)?.position),
      [1, 2, 3, 4],
    );
    assert.equal(pass.verdictOf('nobody'), undefined);
  });
});
