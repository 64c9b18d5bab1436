import type {
  AskedGroup,
  AskedJob,
  SeenGroup,
  SeenJob,
  SeenMetric,
  StoredEvent,
} from '../../../chaos/oracle/evidence.js';
import type { Count } from '../../../chaos/oracle/verdict.js';
import type { RecordSet } from '../record-set.js';
import type { Forge } from './scenes.js';

/** A group of three, two at once, of which all succeed. */
function sweep(r: RecordSet, more: Partial<AskedGroup> = {}): void {
  r.group('g', ['succeeded', 'succeeded', 'succeeded'], { maxParallel: 2, ...more });
  for (const [index, at] of [0, 1, 5].entries()) r.ran(`g-${index}`, at);
}

/** A group of three, whose second member fails and is run again. */
function retried(r: RecordSet): void {
  sweep(r);
  r.results[1] = { ...(r.results[1] as SeenJob), phase: 'failed', exitCode: 3 };
  r.told.splice(0);
  r.stored.splice(0);
  for (const [index, at] of [0, 1, 5].entries()) r.command(`g-${index}`, at, { code: index === 1 ? 3 : 0 });
  r.ran('g-r1-1', 20);
  shows(r, 'g-r1-1', 'succeeded');
}

/** What the table of the group shows of its second member. */
function shows(r: RecordSet, id: string, phase: string): void {
  const [shown] = r.groupsSeen as [SeenGroup];
  const members = shown.members.map((row) => (row.index === 1 ? { index: 1, id, phase } : row));
  const counts: Record<string, number> = {};
  for (const row of members) counts[row.phase] = (counts[row.phase] ?? 0) + 1;
  r.groupsSeen[0] = { ...shown, members, counts };
}

/** A group whose second member never came. */
function lacking(r: RecordSet, phase: string, more: Partial<AskedGroup> = {}): void {
  r.group('g', ['succeeded', phase], more);
  r.ran('g-0', 0);
}

/** Job `a` ends, and what waits for it begins. @param at when */
function chain(r: RecordSet, at: number, more: Partial<AskedJob> = {}): void {
  r.job('a');
  r.ran('a', 0);
  r.job('b', { after: { kind: 'ok', of: 'a' }, ...more });
  r.ran('b', at);
}

const EVENTS: readonly StoredEvent[] = [
  { at: 1_000, kind: 'submitted', facts: {} },
  { at: 2_000, kind: 'queued', facts: {} },
  { at: 3_000, kind: 'running', facts: {} },
  { at: 4_000, kind: 'backoff', facts: { after: { kind: 'refused' } } },
  { at: 5_000, kind: 'hosts-silent', facts: { isOver: true } },
  { at: 6_000, kind: 'succeeded', facts: {} },
];
const TOLD = EVENTS.filter(({ kind }) => kind !== 'submitted' && kind !== 'hosts-silent');

/** A job whose events are told, unless they are left out. */
function told(r: RecordSet, events: readonly StoredEvent[] = TOLD): void {
  r.job('a');
  r.command('a', 1, { code: 0 });
  r.ended('a', 'succeeded', { events: EVENTS });
  for (const event of events) r.notice('a', event);
}

/** A job of three lines, and the metric that is shown of it. */
function plotted(r: RecordSet, more: Partial<SeenMetric> = {}): void {
  r.job('a');
  r.command('a', 1, { code: 0, isPlotted: true });
  r.ended('a', 'succeeded');
  const points = [1, 2, 3].map((step) => ({ step, value: 1_000 + step }));
  r.metrics.push({ job: 'a', count: 3, missedBytes: 0, points, last: { step: 3, value: 1_003 }, ...more });
}

export const PLANTED_OF_GROUPS: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
  'a member that never came': ['members lost or made up', (r) => lacking(r, 'cancelled')],
  'a member beyond the last one': [
    'members lost or made up',
    (r) => {
      sweep(r);
      r.ran('g-3', 30);
    },
  ],
  'a retry that nobody asked for': ['members lost or made up', retried],
  'a retry of a member that had succeeded': [
    'members lost or made up',
    (r) => {
      sweep(r);
      r.deed(10, 'retry', { job: 'g' });
      r.ran('g-r1-1', 20);
      shows(r, 'g-r1-1', 'succeeded');
    },
  ],
  'three members at once where two may': [
    'more members at once than allowed',
    (r) => {
      r.group('g', ['succeeded', 'succeeded', 'succeeded'], { maxParallel: 2 });
      for (const [index, at] of [0, 1, 2].entries()) r.ran(`g-${index}`, at);
    },
  ],
  'a table that shows a failure as a success': [
    'wrong tables of groups',
    (r) => {
      r.group('g', ['succeeded', 'succeeded']);
      r.ran('g-0', 0);
      r.ran('g-1', 0, 3);
    },
  ],
  'a table that counts an open member': [
    'wrong tables of groups',
    (r) => {
      sweep(r);
      r.groupsSeen[0] = { ...(r.groupsSeen[0] as SeenGroup), counts: { open: 1, succeeded: 2 } };
    },
  ],
  'a group that nobody knows': [
    'wrong tables of groups',
    (r) => {
      sweep(r);
      r.groupsSeen.splice(0);
    },
  ],
  'a group that is open at the end': [
    'jobs stuck',
    (r) => {
      sweep(r);
      r.groupsSeen[0] = { ...(r.groupsSeen[0] as SeenGroup), isClosed: false };
    },
  ],
  'a job that begins before the one that it waits for has ended': ['begun before their turn', (r) => chain(r, 2)],
  'a job that begins though the other failed': [
    'begun before their turn',
    (r) => {
      chain(r, 9);
      r.told.splice(0, r.told.length);
      r.stored.splice(0);
      r.results[0] = { id: 'a', isClosed: true, phase: 'failed', exitCode: 3, endedAt: 4_000 };
      r.command('a', 0, { code: 3 });
      r.command('b', 9, { code: 0 });
    },
  ],
  'a member that begins before the job that its group waits for has ended': [
    'begun before their turn',
    (r) => {
      r.job('a');
      r.ran('a', 3);
      sweep(r, { after: { kind: 'any', of: 'a' } });
    },
  ],
  'a job that begins before a group has ended': [
    'begun before their turn',
    (r) => {
      sweep(r);
      r.job('b', { after: { kind: 'any', of: 'g' } });
      r.ran('b', 7);
    },
  ],
  'a job that is kept from beginning by one that succeeded': [
    'wrong outcomes',
    (r) => {
      r.job('a');
      r.ran('a', 0);
      r.job('b', { after: { kind: 'ok', of: 'a' } });
      r.ended('b', 'cancelled');
    },
  ],
  'a member that is cancelled, and nobody failed': [
    'wrong outcomes',
    (r) => {
      r.group('g', ['succeeded', 'cancelled'], { isFailFast: true });
      r.ran('g-0', 0);
      r.ended('g-1', 'cancelled');
    },
  ],
  'an event that its receiver never took': ['events not told', (r) => told(r, TOLD.slice(1))],
  'an event whose every try failed': [
    'events not told',
    (r) => {
      told(r, TOLD.slice(0, -1));
      for (const event of TOLD.slice(-1)) r.notice('a', event, { isTaken: false });
    },
  ],
  'an event that was told under two ids': [
    'events told twice or untruly',
    (r) => {
      told(r);
      for (const event of TOLD.slice(0, 1)) r.notice('a', event, { id: 'other' });
    },
  ],
  'an event that never was': [
    'events told twice or untruly',
    (r) => {
      told(r);
      r.notice('a', { at: 7_000, kind: 'preempted' });
    },
  ],
  'events out of order': ['events told twice or untruly', (r) => told(r, TOLD.toReversed())],
  'a notice that is signed by another key': [
    'events told twice or untruly',
    (r) => {
      told(r, TOLD.slice(0, -1));
      for (const event of TOLD.slice(-1)) r.notice('a', event, { key: Buffer.alloc(32, 8) });
    },
  ],
  'two events under one id': [
    'events told twice or untruly',
    (r) => {
      told(r);
      r.notice('a', { at: 8_000, kind: 'succeeded' }, { id: 'a-succeeded-6000' });
    },
  ],
  'a value that no program told': [
    'wrong metrics',
    (r) => plotted(r, { points: [1, 2, 4].map((step) => ({ step, value: 1_000 + step })) }),
  ],
  'a step that is there twice': [
    'wrong metrics',
    (r) => plotted(r, { points: [1, 2, 2, 3].map((step) => ({ step, value: 1_000 + step })) }),
  ],
  'a value that was counted twice': ['wrong metrics', (r) => plotted(r, { count: 4 })],
  'a point that is missing': ['wrong metrics', (r) => plotted(r, { points: [{ step: 3, value: 1_003 }] })],
  'a last value that is not the last': ['wrong metrics', (r) => plotted(r, { last: { step: 2, value: 1_002 } })],
  'a job without the metric that it told': ['wrong metrics', (r) => plotted(r, { job: 'b' })],
};

export const RIGHT_OF_GROUPS: Readonly<Record<string, Forge>> = {
  'a sweep whose members all succeed, two at once': (r) => sweep(r),
  'a retry that a person asked for': (r) => {
    retried(r);
    r.deed(10, 'retry', { job: 'g' });
  },
  'a member that a cancelled group never began': (r) => {
    r.deed(1, 'cancel', { job: 'g' });
    lacking(r, 'cancelled');
  },
  'a member that fail_fast never began': (r) => {
    r.group('g', ['failed', 'skipped by fail_fast'], { isFailFast: true });
    r.ran('g-0', 0, 3);
  },
  'a member that fail_fast cancelled': (r) => {
    r.group('g', ['failed', 'cancelled'], { isFailFast: true });
    r.ran('g-0', 0, 3);
    r.ended('g-1', 'cancelled');
  },
  'a group that was ended from outside, and whose last member never began': (r) => {
    r.deed(1, 'group-terminated', { job: 'g' });
    lacking(r, 'not known');
  },
  'a third member that begins as the first one is terminated': (r) => {
    r.group('g', ['terminated', 'succeeded', 'succeeded'], { maxParallel: 2 });
    r.deed(1, 'terminate', { job: 'g-0' });
    r.command('g-0', 0, { goneAt: 9 });
    r.ended('g-0', 'terminated');
    for (const [index, at] of [1, 2].entries()) r.ran(`g-${index + 1}`, at);
  },
  'members that a person stops with their group': (r) => {
    r.group('g', ['succeeded']);
    r.deed(2, 'verb', { job: 'g' });
    r.states('jc-g-0-g1', 0, ['CREATING', 'READY']);
    r.command('g-0', 1, { term: '{"cause":"stop"}', code: 0 });
    r.command('g-0', 10, { attempt: 2, code: 0, node: 'jc-g-0-g1' });
    r.deleted('jc-g-0-g1', 20);
    r.ended('g-0', 'succeeded');
  },
  'a chain, each behind the other': (r) => {
    chain(r, 5);
    sweep(r);
    r.job('c', { after: { kind: 'any', of: 'g' } });
    r.ran('c', 10);
  },
  'a job that begins between the outcome of the other and its close': (r) => {
    chain(r, 5);
    r.results[0] = { ...(r.results[0] as SeenJob), endedAt: 60_000 };
  },
  'a job that is kept from beginning by one that failed': (r) => {
    r.job('a');
    r.ran('a', 0, 3);
    r.job('b', { after: { kind: 'ok', of: 'a' } });
    r.ended('b', 'cancelled');
  },
  'a group that never begins, and the job that wanted that': (r) => {
    r.job('a');
    r.ran('a', 0, 3);
    r.group('g', ['never begun', 'never begun'], { after: { kind: 'ok', of: 'a' } });
    r.job('b', { after: { kind: 'not_ok', of: 'g' } });
    r.ran('b', 9);
  },
  'a group that a person lets begin': (r) => {
    r.job('a');
    r.ran('a', 3);
    r.deed(0, 'begin', { job: 'g' });
    sweep(r, { after: { kind: 'any', of: 'a' } });
  },
  'events that are each told, one of them twice under its id': (r) => {
    told(r);
    for (const event of TOLD.slice(1, 2)) r.notice('a', event);
  },
  'an event whose first try failed': (r) => {
    for (const event of TOLD.slice(0, 1)) r.notice('a', event, { isTaken: false });
    told(r);
  },
  'events that a reset job does not remember': (r) => {
    r.deed(1, 'reset', { job: 'a' });
    told(r, [{ at: 1_500, kind: 'queued', facts: {} }, ...TOLD]);
  },
  'events of a job that left none': (r) => {
    r.deed(1, 'terminate', { job: 'a' });
    r.job('a');
    r.command('a', 1, { code: 0 });
    r.ended('a', 'terminated');
    for (const event of TOLD) r.notice('a', event);
  },
  'events of another installation, which tells nobody': (r) => {
    r.job('t', { isTheirs: true });
    r.command('t', 1, { code: 0 });
    r.ended('t', 'succeeded', { events: EVENTS });
  },
  'a metric that is shown as it was told': (r) => plotted(r),
  'a metric whose second attempt took back the first': (r) => {
    r.job('a');
    r.states('jc-a-g1', 0, ['CREATING', 'READY']);
    r.command('a', 1, { isPlotted: true });
    r.states('jc-a-g1', 3, ['PREEMPTED', 'gone']);
    r.command('a', 10, { attempt: 2, code: 0, node: 'jc-a-g2', isPlotted: true });
    r.ended('a', 'succeeded');
    const points = [1, 2, 3].map((step) => ({ step, value: 2_000 + step }));
    r.metrics.push({ job: 'a', count: 6, missedBytes: 0, points, last: { step: 3, value: 2_003 } });
  },
  'a metric that lacks what nobody looked through': (r) => plotted(r, { points: [], missedBytes: 9 }),
};
