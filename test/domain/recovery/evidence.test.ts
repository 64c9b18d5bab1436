import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  type DeadHost,
  endBeforeLoss,
  type Evidence,
  evidenceOf,
  type Look,
  verdictOn,
} from '../../../domain/recovery/evidence.js';
import { FACTS } from '../../../domain/recovery/facts.js';
import {
  commandEnd,
  type HostEnd,
  hostsFact,
  preemptedSlices,
  shutDownEnd,
} from '../../../domain/recovery/host-ends.js';

const exit = { code: 0, startedAt: 1, endedAt: 2, isStopped: false } as const;
const saved: HostEnd = { kind: 'done', at: { slice: 0, host: 0 }, ...exit, host: 'preempted' };
const facts = { by: 'ends', hosts: 1, looks: [] } as const;
const taken: Look = { at: 3, slice: 0, look: 'directly', condition: 'preempted', text: 'PREEMPTED' };

const dead: DeadHost = {
  at: 2,
  slice: 1,
  host: 3,
  sign: 'stale',
  others: 'answer, with fresh signs',
  silence: 'within timeouts.unreachable',
  node: 'ready',
  text: 'host 3 of slice 1 has not answered',
};

const cases: Record<string, { evidence: Omit<Evidence, 'v' | 'ended'>; want: unknown }> = {
  'code 0 of a host that was preempted is a loss': {
    evidence: { ...facts, ends: [saved] },
    want: ['slices-lost', 'preempted'],
  },
  'code 0 of a host that was up is its end, also if the slice is taken a moment later': {
    evidence: { ...facts, ends: [{ ...saved, host: 'up' }], looks: [taken] },
    want: ['exited', 0],
  },
  'code 0 that nobody witnesses is a loss once the provider says so': {
    evidence: { ...facts, ends: [{ kind: 'done', at: saved.at, ...exit }], looks: [taken] },
    want: ['slices-lost', 'preempted'],
  },
  'a loss before all hosts have ended is a loss': {
    evidence: { by: 'loss', hosts: 2, ends: [{ ...saved, host: 'up' }], looks: [taken] },
    want: ['slices-lost', 'preempted'],
  },
  'a loss behind the witnessed ends of all hosts takes nothing back': {
    evidence: { by: 'loss', hosts: 1, ends: [{ ...saved, host: 'up' }], looks: [taken] },
    want: ['exited', 0],
  },
  'a host that counts as dead costs its slice': {
    evidence: { by: 'loss', hosts: 8, ends: [], looks: [], dead: [dead] },
    want: ['slices-lost', 'failed'],
  },
  'of a dead host and a preemption the first counts': {
    evidence: { by: 'loss', hosts: 8, ends: [], looks: [{ ...taken, at: 1 }], dead: [dead] },
    want: ['slices-lost', 'preempted'],
  },
  'of a dead host and a preemption the first counts, whichever it is': {
    evidence: { by: 'loss', hosts: 8, ends: [], looks: [taken], dead: [dead] },
    want: ['slices-lost', 'failed'],
  },
  'a host that was shutting down, on a slice that is there, lost its run': {
    evidence: { ...facts, ends: [{ ...saved, host: 'stopping' }] },
    want: ['run-lost'],
  },
  'a host by whose facts its slice is kept costs nothing': {
    evidence: { by: 'loss', hosts: 8, ends: [], looks: [taken], dead: [{ ...dead, sign: 'fresh' }] },
    want: ['slices-lost', 'preempted'],
  },
  'silence on slices that are there is silence': {
    evidence: { ...facts, by: 'silence', ends: [] },
    want: ['no-output'],
  },
  'silence of slices that were taken is a loss': {
    evidence: { ...facts, by: 'silence', ends: [], looks: [taken] },
    want: ['slices-lost', 'preempted'],
  },
};

describe('what an attempt was called ended by', () => {
  for (const [name, { evidence, want }] of Object.entries(cases))
    it(name, () => {
      const verdict = verdictOn(evidenceOf(evidence));
      const detail =
        verdict.kind === 'exited' ? verdict.code : verdict.kind === 'slices-lost' && verdict.slices[0]?.cause;
      assert.deepEqual(detail === false ? [verdict.kind] : [verdict.kind, detail], want);
    });

  const place = fc.record({ slice: fc.nat(3), host: fc.nat(63) });
  const host = fc.constantFrom('up', 'stopping', 'preempted', undefined);
  const anyEnd = fc
    .tuple(
      place,
      fc.constantFrom(0, 0, 0, 1, 143),
      fc.nat(1000),
      fc.boolean(),
      host,
      fc.constantFrom('exit', 'exit', 'lost'),
    )
    .map(([at, code, endedAt, isStopped, condition, how]): HostEnd => {
      if (how === 'lost') return { kind: 'run-lost', at, message: 'gone' };
      const end = { at, code, startedAt: 0, endedAt, isStopped, ...(condition && { host: condition }) };
      return code === 0 ? { kind: 'done', ...end } : { kind: 'failed', ...end };
    });

  /** Many hosts that ended well, and few ends of any sort among them: what decides is rare. */
  const manyEnds = fc
    .tuple(
      fc.integer({ min: 20, max: 120 }),
      fc.array(fc.tuple(anyEnd, fc.nat(1000)), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(false, false, false, true),
    )
    .map(([count, few, canLose]) => {
      const well = (slice: number): HostEnd => ({ ...saved, at: { slice, host: 0 }, endedAt: 500, host: 'up' });
      const ends = Array.from({ length: count }, (_, slice) => well(slice));
      for (const [end, place] of few) if (canLose || end.kind !== 'run-lost') ends.splice(place % ends.length, 0, end);
      return ends;
    });

  it('is kept of many hosts in 32 ends that say what all of them say', () => {
    let cut = 0;
    const said = new Set<string>();
    /** Of hosts that ended well any may be named. */
    const endOf = (ends: readonly HostEnd[]): object => {
      const end = commandEnd(ends);
      return end.kind === 'exited' && end.code === 0 ? { code: 0, isStopped: end.isStopped } : end;
    };
    fc.assert(
      fc.property(manyEnds, (ends) => {
        const kept = evidenceOf({ ...facts, hosts: ends.length, ends });
        if (kept.ends.length < ends.length) cut++;
        said.add(hostsFact(ends));
        assert.ok(kept.ends.length === Math.min(32, ends.length));
        assert.equal(hostsFact(kept.ends), hostsFact(ends));
        if (!ends.some(({ kind }) => kind === 'run-lost')) assert.deepEqual(endOf(kept.ends), endOf(ends));
        assert.deepEqual(preemptedSlices(kept.ends), preemptedSlices(ends));
        if (hostsFact(ends) === 'shutting down') assert.deepEqual(shutDownEnd(kept.ends), shutDownEnd(ends));
      }),
      { numRuns: 150 },
    );
    assert.ok(cut > 30, `${cut} were cut`);
    assert.ok(said.size >= 7, [...said].join());
  });

  it('is kept of 32 hosts as they told it', () => {
    const ends = Array.from({ length: 32 }, (_, index): HostEnd => ({ ...saved, endedAt: 100 - index }));
    assert.deepEqual(evidenceOf({ ...facts, ends }).ends, ends);
  });

  it('keeps 24 looks, and one that showed a loss among them', () => {
    const { look, condition } = FACTS['slice seen'];
    const quiet = Array.from({ length: 100 }, (_, slice): Look => ({
      at: 10 + slice,
      slice,
      look: look[1],
      condition: condition[0],
    }));
    const before: Look = { ...taken, at: 50, text: 'x'.repeat(1_000) };
    const told = [...quiet.slice(60), taken, before, ...quiet.slice(0, 60)];
    const { looks } = evidenceOf({ ...facts, by: 'loss', ends: [], looks: told });
    assert.deepEqual(looks, [taken, { ...before, text: 'x'.repeat(400) }, ...quiet.slice(-22)]);
  });

  it('is an end before a loss only once all hosts have ended well, as their hosts witness', () => {
    const up: HostEnd = { ...saved, host: 'up' };
    const { host: _, ...unwitnessed } = saved;
    const lost: HostEnd = { kind: 'run-lost', at: saved.at, message: 'gone' };
    assert.equal(endBeforeLoss([up], 1)?.kind, 'exited');
    const failed: HostEnd = { ...up, kind: 'failed', code: 3 };
    for (const ends of [[], [unwitnessed], [saved], [lost], [failed]])
      assert.equal(endBeforeLoss(ends, ends.length), undefined);
    assert.equal(endBeforeLoss([up], 2), undefined);
  });

  it('keeps the first 8 dead hosts, with 400 characters each', () => {
    const hosts = Array.from({ length: 20 }, (_, slice) => ({ ...dead, slice, text: 'x'.repeat(1_000) }));
    const kept = evidenceOf({ ...facts, by: 'loss', ends: [], dead: hosts }).dead ?? [];
    assert.deepEqual(
      kept.map(({ slice, text }) => [slice, text.length]),
      Array.from({ length: 8 }, (_, slice) => [slice, 400]),
    );
    assert.equal(evidenceOf({ ...facts, ends: [saved] }).dead, undefined);
  });
});
