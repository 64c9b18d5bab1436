import type { Deed } from '../../../chaos/oracle/evidence.js';
import type { Count } from '../../../chaos/oracle/verdict.js';
import type { RecordSet } from '../record-set.js';
import { type Forge, saying } from './scenes.js';

/** As `PLANTED` and `RIGHT`, of the pool's own machines. */

const CLAIM = 'f7b6\njobctl-owner=o\njobctl-job=a\nslice=jc-a-g1\npool=default\n';

function machine(records: RecordSet, claim?: string, name = 'rack-0'): void {
  records.machines.push({ name, ...(claim !== undefined && { claim }) });
}

/** Job `a` runs on rack-0, and with a code ends. */
function runs(records: RecordSet, code?: number): void {
  machine(records);
  records.job('a');
  records.command('a', 1, { on: 'rack-0', ...(code !== undefined && { code }) });
}

/** What becomes of job `a` after that. */
function runsAgain(records: RecordSet, on = 'rack-1'): void {
  records.command('a', 10, { attempt: 2, code: 0, node: 'jc-a-g2', on });
  records.ended('a', 'succeeded');
}

/** Job `a` runs on rack-0 and tells its line at 2 s; job `b` begins there. @param hostOf the command of `b` */
function twoJobs(records: RecordSet, bAt: number, two?: string, hostOf = 'rack-0'): void {
  runs(records, 0);
  records.ended('a', 'succeeded');
  records.job('b');
  records.command('b', bAt, { on: hostOf, code: 0, ...(two !== undefined && { two }) });
  records.ended('b', 'succeeded');
}

const refused = (records: RecordSet, words: string): void => {
  machine(records);
  const what = `1 machine without an accelerator cannot be had now: ${words}`;
  saying(
    records,
    `provisioning: the pool's own machines refused slice 0 in own-machines: ${what}; it is asked again in 1 s`,
  );
};
const deed = (records: RecordSet, at: number, kind: Deed['kind']): void =>
  records.deed(at, kind, { resource: 'rack-0' });

export const PLANTED_OF_MACHINES: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
  'a command that begins on a machine while another one still speaks there': [
    'two commands at once on a host',
    (r) => twoJobs(r, 3),
  ],
  'a command that finds the lock of its host taken': ['two commands at once on a host', (r) => twoJobs(r, 30, 'p1')],
  'a command that finds the lock taken and is spoken over, which is one pair': [
    'two commands at once on a host',
    (r) => twoJobs(r, 3, 'p1'),
  ],
  'a command that finds the lock of a GPU taken, which is another one’s by its claim': [
    'two commands at once on a host',
    (r) => {
      machine(r, undefined, 'gpu-3');
      r.job('a');
      r.command('a', 1, { on: 'gpu-3', code: 0 });
      r.ended('a', 'succeeded');
      r.success('b');
      r.told.push({
        ...(r.told.find(({ job }) => job === 'b') as (typeof r.told)[0]),
        number: 90,
        kind: 'TWO',
        text: 'p1',
      });
    },
  ],
  'a GPU that is claimed for a job that is closed': [
    'claims or commands left on machines',
    (r) => {
      machine(r, CLAIM, 'gpu-3');
      r.success('a');
    },
  ],
  'a lock that is taken on a host that is no machine of the pool': [
    'two commands at once on a host',
    (r) => {
      r.success('b');
      r.success('a', 30);
      r.told.push({
        ...(r.told.find(({ job }) => job === 'a') as (typeof r.told)[0]),
        number: 90,
        kind: 'TWO',
        text: 'p1',
      });
    },
  ],
  'a second attempt beside the first on one machine': [
    'two commands at once on a host',
    (r) => {
      machine(r);
      r.job('a');
      r.command('a', 1, { on: 'rack-0', goneAt: 3 });
      r.told.push({ ...(r.told[0] as (typeof r.told)[0]), number: 9, at: 12_000, kind: 'TERM', text: '' });
      deed(r, 2, 'power-cut');
      runsAgain(r, 'rack-0');
    },
  ],
  'a claim of a job that is closed': [
    'claims or commands left on machines',
    (r) => {
      machine(r, CLAIM);
      r.success('a');
    },
  ],
  'a job that is stuck and holds a machine, which is one fault': [
    'jobs stuck',
    (r) => {
      machine(r, CLAIM);
      r.job('a');
      r.command('a', 1, { on: 'rack-0' });
      r.results.push({ id: 'a', isClosed: false, phase: 'running' });
    },
  ],
  'a claim that nobody can read': ['claims or commands left on machines', (r) => machine(r, '')],
  'a command that goes on when its job is closed': [
    'claims or commands left on machines',
    (r) => {
      runs(r);
      r.deed(2, 'cancel', { job: 'a' });
      r.ended('a', 'cancelled');
    },
  ],
  'a healthy command on a machine that was given up': [
    'false recoveries',
    (r) => {
      machine(r);
      r.job('a');
      r.command('a', 1, { on: 'rack-0', term: '{"cause":"attempt"}', goneAt: 4 });
      runsAgain(r);
    },
  ],
  'a healthy command on a machine, of which another one was cut off': [
    'false recoveries',
    (r) => {
      machine(r);
      r.job('a');
      r.command('a', 1, { on: 'rack-0', term: '', goneAt: 4 });
      r.deed(3, 'power-cut', { resource: 'rack-1' });
      runsAgain(r);
    },
  ],
  'a healthy command on a machine that was cut off before it began': [
    'false recoveries',
    (r) => {
      machine(r);
      r.job('a');
      deed(r, 0, 'power-cut');
      r.command('a', 1, { on: 'rack-0', term: '', goneAt: 4 });
      runsAgain(r);
    },
  ],
  'a silent machine, which is waited for': [
    'false recoveries',
    (r) => {
      runs(r);
      deed(r, 2, 'unwell');
      r.told.push({ ...(r.told[0] as (typeof r.told)[0]), number: 9, at: 4_000, kind: 'TERM', text: '' });
      r.told.push({ ...(r.told[0] as (typeof r.told)[0]), number: 10, at: 4_500, kind: 'GONE', text: '' });
      runsAgain(r);
    },
  ],
  'work that was done long before its machine lost its power': [
    'ended work run again',
    (r) => {
      r.readWithinMs = 2_000;
      runs(r, 0);
      deed(r, 7, 'power-cut');
      runsAgain(r);
    },
  ],
  'an exit 0 that answered the shutdown of its machine': [
    'false successes',
    (r) => {
      machine(r);
      r.job('a');
      deed(r, 2, 'power-cut');
      r.command('a', 1, { on: 'rack-0', term: '', code: 0 });
      r.ended('a', 'succeeded');
    },
  ],
  'a drain that nobody said': ['untrue reasons', (r) => refused(r, 'rack-0 is drained by ann: new fan')],
  'a sick machine that was well': [
    'untrue reasons',
    (r) => refused(r, 'rack-0 is put aside: cannot be reached: connection refused'),
  ],
  'a machine that is sick only later': [
    'untrue reasons',
    (r) => {
      deed(r, 9, 'unwell');
      refused(r, 'rack-0 cannot be reached: connection refused');
    },
  ],
  'a machine that is held by a slice of no job': [
    'untrue reasons',
    (r) => refused(r, 'rack-0 is held by slice jc-x-g1'),
  ],
  'one of two machines, of which it is not true': [
    'untrue reasons',
    (r) => {
      r.machines.push({ name: 'rack-1' });
      deed(r, 1, 'drained');
      refused(r, 'rack-0 is drained by operator: chaos; rack-1 is drained by operator: chaos');
    },
  ],
};

export const RIGHT_OF_MACHINES: Readonly<Record<string, Forge>> = {
  'two jobs on one machine, one after the other': (r) => twoJobs(r, 5),
  'two jobs at once on two machines': (r) => twoJobs(r, 2, undefined, 'rack-1'),
  'a connection whose end is heard of late, after the next command has begun': (r) => {
    machine(r);
    r.job('a');
    r.deed(3, 'cancel', { job: 'a' });
    r.command('a', 1, { on: 'rack-0', term: '{"cause":"cancel"}', goneAt: 6 });
    r.ended('a', 'cancelled');
    r.job('b');
    r.command('b', 5, { on: 'rack-0', code: 0 });
    r.ended('b', 'succeeded');
  },
  'a command that its machine took with it': (r) => {
    machine(r);
    r.job('a');
    deed(r, 3, 'power-cut');
    r.command('a', 1, { on: 'rack-0', goneAt: 3 });
    runsAgain(r, 'rack-0');
  },
  'a command that heard the shutdown of its machine': (r) => {
    machine(r);
    r.job('a');
    deed(r, 2, 'power-cut');
    r.command('a', 1, { on: 'rack-0', term: '', code: 0 });
    runsAgain(r, 'rack-0');
  },
  'a machine that an operator gave up, and a command that ends there when it is checked': (r) => {
    runs(r);
    deed(r, 2, 'unwell');
    deed(r, 3, 'forgot');
    runsAgain(r);
    r.told.push({ ...(r.told[0] as (typeof r.told)[0]), number: 9, at: 40_000, kind: 'TERM', text: '' });
    r.told.push({ ...(r.told[0] as (typeof r.told)[0]), number: 10, at: 41_000, kind: 'GONE', text: '' });
  },
  'work that was done a moment before its machine lost its power': (r) => {
    r.readWithinMs = 2_000;
    runs(r, 0);
    deed(r, 5, 'power-cut');
    runsAgain(r, 'rack-0');
  },
  'machines of which each reason is borne out': (r) => {
    for (const name of ['rack-1', 'rack-2']) r.machines.push({ name });
    deed(r, 1, 'drained');
    r.deed(2, 'full-disk', { resource: 'rack-1' });
    r.success('b');
    refused(
      r,
      'rack-0 is drained by operator: chaos; rack-1 4 KiB are free in /home, and 1048576 are needed; its fan; rack-2 is held by slice jc-b-g1',
    );
  },
};
