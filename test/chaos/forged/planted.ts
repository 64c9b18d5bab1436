import type { Count } from '../../../chaos/oracle/verdict.js';
import type { AskedJob } from '../../../chaos/oracle/evidence.js';
import {
  type Forge,
  besideSecond,
  deniedZone,
  doneJob,
  endedJob,
  foreign,
  killed,
  refusedLogin,
  runningJob,
  saying,
  secondAttempt,
  successStoring,
  THEIR_HOST,
} from './scenes.js';

/** One fault each, and nothing else that is wrong. */
export const PLANTED: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
  'a node that nobody deleted': ['leaked resources', (r) => r.states('jc-a-g7', 0, ['CREATING', 'READY'])],
  'a husk that keeps its quota': ['leaked resources', (r) => r.states('jc-a-g7', 0, ['READY', 'PREEMPTED'])],
  'a healthy attempt that was given up': [
    'false recoveries',
    (r) => {
      runningJob(r);
      r.deleted('jc-a-g1', 4);
      secondAttempt(r);
    },
  ],
  'a preemption that came only after the slice had been deleted': [
    'false recoveries',
    (r) => {
      runningJob(r);
      r.deleted('jc-a-g1', 4);
      r.states('jc-a-g1', 4, ['PREEMPTED', 'gone']);
      secondAttempt(r);
    },
  ],
  'an announced preemption of another slice': [
    'false recoveries',
    (r) => {
      runningJob(r);
      r.deed(3, 'preempt', { resource: 'jc-b-g1' });
      r.deleted('jc-a-g1', 4);
      secondAttempt(r);
    },
  ],
  'a command that was killed with its slice': [
    'false recoveries',
    (r) => {
      r.job('a');
      r.command('a', 1, { goneAt: 5 });
      r.deleted('jc-a-g1', 4);
      secondAttempt(r);
    },
  ],
  'a command that was stopped for nothing': [
    'false recoveries',
    (r) => {
      r.job('a');
      r.command('a', 1, { term: '{"cause":"attempt"}', goneAt: 4 });
      r.deleted('jc-a-g1', 5);
      secondAttempt(r);
    },
  ],
  'another slice that was lost': [
    'false recoveries',
    (r) => {
      runningJob(r);
      r.deleted('jc-a-g1', 4);
      r.states('jc-b-g1', 3, ['READY', 'PREEMPTED', 'gone']);
      secondAttempt(r);
    },
  ],
  'an exit 0 that answered SIGTERM': [
    'false successes',
    (r) => endedJob(r, (job) => r.command(job, 0, { term: '', code: 0 })),
  ],
  'a host on which the command never began': [
    'false successes',
    (r) => {
      r.job('a', { hosts: 2 });
      r.command('a', 0, { code: 0 });
      r.ended('a', 'succeeded');
    },
  ],
  'a host whose command never ended': [
    'false successes',
    (r) => {
      r.job('a', { slices: 2 });
      r.command('a', 0, { code: 0 });
      r.command('a', 0, { slice: 1 });
      r.ended('a', 'succeeded');
    },
  ],
  'a success of the attempt before the last': [
    'false successes',
    (r) => {
      r.job('a');
      r.command('a', 0, { code: 0 });
      r.deed(5, 'verb', { job: 'a' });
      r.command('a', 10, { attempt: 2 });
      r.ended('a', 'succeeded');
    },
  ],
  'work that was done, of which nothing was lost': [
    'ended work run again',
    (r) => {
      doneJob(r);
      secondAttempt(r, 'jc-a-g1');
      r.deleted('jc-a-g1', 20);
    },
  ],
  'work whose slice was let go after it was done': [
    'ended work run again',
    (r) => {
      doneJob(r);
      r.deleted('jc-a-g1', 6);
      secondAttempt(r);
    },
  ],
  'work that was done long before its slice was taken': [
    'ended work run again',
    (r) => {
      r.readWithinMs = 2_000;
      doneJob(r);
      r.event('vm-power', 'jc-a-g1', 7, { power: 'off' });
      r.deleted('jc-a-g1', 8);
      secondAttempt(r);
    },
  ],
  'a run in another zone than the free one': [
    'wrong outcomes',
    (r) => {
      r.success('a');
      r.jobs[0] = { ...(r.jobs[0] as AskedJob), runsIn: 'y' };
    },
  ],
  'a second process in one attempt': [
    'commands begun twice in an attempt',
    (r) => {
      endedJob(r, (job) => {
        r.command(job, 0, { lines: 0 });
        r.command(job, 5, { code: 0, lines: 0 });
      });
    },
  ],
  'an attempt that begins after a later one': [
    'commands begun twice in an attempt',
    (r) => {
      endedJob(r, (job) => {
        r.command(job, 0, { attempt: 2, code: 0 });
        r.command(job, 5, { attempt: 1, code: 1 });
      });
    },
  ],
  'a failure that no command had': ['wrong outcomes', (r) => endedJob(r, (job) => r.command(job, 0), 'failed')],
  'a failure before any command': ['wrong outcomes', (r) => endedJob(r, () => undefined, 'failed')],
  'another exit code than the one of the command': [
    'wrong outcomes',
    (r) => endedJob(r, (job) => r.command(job, 0, { code: 3 }), 'failed', 4),
  ],
  'a failure with a retry in hand': [
    'wrong outcomes',
    (r) => {
      r.job('a', { taskRetries: 1 });
      r.command('a', 0, { code: 3 });
      r.ended('a', 'failed', { exitCode: 3 });
    },
  ],
  'a cancel that nobody asked for': [
    'wrong outcomes',
    (r) => {
      r.deed(1, 'cancel', { job: 'b' });
      endedJob(r, (job) => r.command(job, 0), 'cancelled');
    },
  ],
  'a terminate that nobody did': ['wrong outcomes', (r) => endedJob(r, (job) => r.command(job, 0), 'terminated')],
  'a hole in a log': ['stored output that is no prefix', (r) => successStoring(r, 'L a 1\nL a 3\n')],
  'a double in a log': ['stored output that is no prefix', (r) => successStoring(r, 'L a 1\nL a 1\nL a 2\n')],
  'a line that nobody printed': ['stored output that is no prefix', (r) => successStoring(r, 'L a 1\nL b 2\n')],
  'a log of a host that never began': [
    'stored output that is no prefix',
    (r) => {
      r.success('a');
      r.stored.push({ job: 'a', attempt: 2, host: 0, text: 'L a 1\n' });
    },
  ],
  'a lost tail without a word': ['missing tails that are not said', (r) => successStoring(r, 'L a 1\nL a')],
  'more than the last line of a command that was killed': [
    'missing tails that are not said',
    (r) => killed(r, 'L a 1\n'),
  ],
  'a log that is missing whole': ['missing tails that are not said', (r) => successStoring(r, '')],
  'a lease of a job that is over': ['leases left', (r) => r.leases.push('a lease that is held')],
  'more chips than the pool has': [
    'chips overcommitted',
    (r) => {
      r.states('jc-a-g1', 0, ['CREATING', 'READY'], 16);
      r.states('jc-b-g1', 1, ['CREATING', 'READY'], 20);
      for (const name of ['jc-a-g1', 'jc-b-g1']) r.deleted(name, 5);
    },
  ],
  'a foreign node that was asked to go': [
    'foreign resources touched',
    (r) => {
      foreign(r);
      r.event('api-call', 'jc-a-g2', 5, { method: 'DeleteNode', code: 'PERMISSION_DENIED' });
    },
  ],
  'a foreign node that is gone': [
    'foreign resources touched',
    (r) => {
      foreign(r);
      r.states('jc-a-g2', 5, ['gone']);
    },
  ],
  'a slice of a second installation that ours deletes': ['foreign resources touched', (r) => besideSecond(r, {})],
  'a slice of ours that a second installation deletes': [
    'foreign resources touched',
    (r) => besideSecond(r, { a: THEIR_HOST, t: THEIR_HOST }),
  ],
  'a slice that a second installation leaves behind': [
    'leaked resources',
    (r) => {
      r.theirHost = THEIR_HOST;
      r.job('t', { isTheirs: true });
      r.states('jc-t-g1', 0, ['CREATING', 'READY']);
      r.command('t', 0, { code: 0 });
      r.ended('t', 'succeeded');
    },
  ],
  'a worker that ends on a full disk': [
    'processes that ended by themselves',
    (r) => {
      r.lives.push({ process: 'server', startedAt: 0 });
      r.lives.push({ process: 'worker', startedAt: 20_000, endedAt: 29_000, how: 'exit code 1' });
      r.deed(23, 'ended-process', { process: 'second worker' });
    },
  ],
  'a worker that ends by itself after it was killed and started again': [
    'processes that ended by themselves',
    (r) => {
      r.deed(3, 'ended-process', { process: 'worker' });
      r.lives.push({ process: 'worker', startedAt: 0, endedAt: 3_100, how: 'SIGKILL' });
      r.lives.push({ process: 'worker', startedAt: 4_000, endedAt: 99_000, how: 'SIGABRT' });
    },
  ],
  'a job that is open at the end': [
    'jobs stuck',
    (r) => {
      r.job('a');
      r.results.push({ id: 'a', isClosed: false, phase: 'queued' });
    },
  ],
  'a preemption that no slice had': [
    'untrue reasons',
    (r) => saying(r, 'evicting: slice 0 was preempted by the provider: the node is PREEMPTED; trying again (1 of 50)'),
  ],
  'a refusal in words that nobody said': [
    'untrue reasons',
    (r) => saying(r, 'provisioning: Cloud TPU refused slice 0 in z: no capacity; z is asked again in 15 s'),
  ],
  'a name that is said to be taken, and is free': [
    'untrue reasons',
    (r) => saying(r, 'evicting: Cloud TPU refused slice 0 in z: the node of this name belongs to somebody else'),
  ],
  'a zone that is said to be none, and another was': ['untrue reasons', (r) => deniedZone(r, 'y')],
  'a login that is said to have expired, and has not': ['untrue reasons', (r) => refusedLogin(r, 600)],
  'a pause that nobody asked for': ['untrue reasons', (r) => saying(r, 'paused: stopped by alice')],
  'an exit 0 that answered jobctl, before chaos signalled the command': [
    'false successes',
    (r) =>
      endedJob(r, (job) => {
        r.command(job, 0, { term: '{"cause":"attempt"}', code: 0 });
        r.deed(2, 'signalled', { job, process: 'p1' });
      }),
  ],
  'work that a signal of others ended with 0, and that ran again': [
    'ended work run again',
    (r) => {
      r.job('a');
      r.states('jc-a-g1', 0, ['CREATING', 'READY']);
      r.command('a', 1, { term: '', code: 0 });
      r.deed(3, 'signalled', { job: 'a', process: 'p1' });
      secondAttempt(r, 'jc-a-g1');
      r.deleted('jc-a-g1', 20);
    },
  ],
  'a job that is in no list': ['jobs stuck', (r) => r.job('a')],
};
