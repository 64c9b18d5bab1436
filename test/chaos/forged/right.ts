import type { AskedJob, StoredLog } from '../../../chaos/oracle/evidence.js';
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

/** What looks like a fault, and is none. */
export const RIGHT: Readonly<Record<string, Forge>> = {
  'a zone that the cloud denied': (r) => deniedZone(r, 'z'),
  'a login that the cloud refused': (r) => refusedLogin(r, 4),
  'a job that succeeds': (r) => r.success('a'),
  'a command that heard SIGTERM, went on and came to its end': (r) =>
    endedJob(r, (job) => r.command(job, 0, { term: '', code: 0, isEarly: false })),
  'a preempted slice and a second attempt': (r) => {
    runningJob(r);
    r.states('jc-a-g1', 3, ['PREEMPTED']);
    r.deleted('jc-a-g1', 4);
    secondAttempt(r);
  },
  'a slice that is deleted in the very millisecond in which it was lost': (r) => {
    runningJob(r);
    r.states('jc-a-g1', 4, ['PREEMPTED']);
    r.deleted('jc-a-g1', 4);
    secondAttempt(r);
  },
  'a preemption that its guest heard of, and the API says later': (r) => {
    runningJob(r);
    r.deed(3, 'preempt', { resource: 'jc-a-g1' });
    r.deleted('jc-a-g1', 4);
    secondAttempt(r);
  },
  'a host that died before its slice was given back': (r) => {
    r.job('a');
    r.command('a', 1, { goneAt: 3 });
    r.deleted('jc-a-g1', 4);
    secondAttempt(r);
  },
  'work that was done a moment before its slice was taken': (r) => {
    r.readWithinMs = 2_000;
    doneJob(r);
    r.event('vm-power', 'jc-a-g1', 5, { power: 'off' });
    r.deleted('jc-a-g1', 8);
    secondAttempt(r);
  },
  'work of which one host was done when the slice of another was taken': (r) => {
    r.readWithinMs = 2_000;
    r.job('a', { slices: 2 });
    r.command('a', 1, { code: 0 });
    r.command('a', 9, { code: 0, slice: 1, node: 'jc-a-s1-g1' });
    r.event('vm-power', 'jc-a-g1', 5, { power: 'off' });
    r.command('a', 20, { attempt: 2, code: 0, node: 'jc-a-g2' });
    r.command('a', 20, { attempt: 2, code: 0, slice: 1, node: 'jc-a-s1-g1' });
    r.ended('a', 'succeeded');
  },
  'an end that the shutdown of its host had asked for': (r) => {
    r.readWithinMs = 2_000;
    r.job('a');
    r.states('jc-a-g1', 0, ['CREATING', 'READY']);
    r.command('a', 1, { term: '', code: 0, isEarly: false });
    r.event('vm-power', 'jc-a-g1', 9, { power: 'off' });
    r.deleted('jc-a-g1', 9);
    secondAttempt(r);
  },
  'work that was done, and that a person wants again': (r) => {
    doneJob(r);
    r.deed(6, 'verb', { job: 'a' });
    r.deleted('jc-a-g1', 7);
    secondAttempt(r);
  },
  'work that was done on a full disk, which took the exit record': (r) => {
    doneJob(r);
    r.deed(2, 'full-disk', { resource: 'jc-a-g1' });
    secondAttempt(r, 'jc-a-g1');
    r.deleted('jc-a-g1', 20);
  },
  'work that ended behind the notice of its provider': (r) => {
    doneJob(r);
    r.deed(2, 'preempt', { resource: 'jc-a-g1' });
    r.deleted('jc-a-g1', 6);
    secondAttempt(r);
  },
  'a refusal that ends the attempt, and is tried again': (r) => {
    r.event('api-call', 'jc-a-g1', 4, { method: 'CreateNode', code: 'INVALID_ARGUMENT', message: 'no such zone' });
    saying(r, 'evicting: Cloud TPU refused slice 0 in z: no such zone; trying again (1 of 50)');
  },
  'a run in the one zone that is free': (r) => {
    r.success('a');
    r.jobs[0] = { ...(r.jobs[0] as AskedJob), runsIn: 'z' };
  },
  'a lost tail that is said in an object of its own': (r) => {
    successStoring(r, 'L a 1\nL a');
    r.stored[0] = { ...(r.stored[0] as StoredLog), lost: '\n[jobctl] what this host printed after 3 is not stored\n' };
  },
  'a node that vanished': (r) => {
    runningJob(r);
    r.states('jc-a-g1', 3, ['gone']);
    secondAttempt(r);
  },
  'a command that failed and is tried again': (r) => {
    r.job('a', { taskRetries: 1 });
    r.command('a', 0, { code: 1 });
    r.command('a', 10, { attempt: 2, code: 0 });
    r.ended('a', 'succeeded');
  },
  'a restart that a person asked for': (r) => {
    runningJob(r);
    r.deed(4, 'verb', { job: 'a' });
    secondAttempt(r, 'jc-a-g1');
    r.deleted('jc-a-g1', 20);
  },
  'a lease that the pool took back': (r) => {
    r.job('a');
    r.command('a', 0, { term: '{"v":1,"cause":"quota"}', code: 0 });
    r.command('a', 10, { attempt: 2, code: 0 });
    r.ended('a', 'succeeded');
  },
  'a success of a command that chaos told to end': (r) =>
    endedJob(r, (job) => {
      r.command(job, 0, { term: '', code: 0 });
      r.deed(2, 'signalled', { job, process: 'p1' });
    }),
  'a failure of a command that died of a signal which chaos sent': (r) =>
    endedJob(
      r,
      (job) => {
        r.command(job, 0, { term: '', goneAt: 3 });
        r.deed(2, 'signalled', { job, process: 'p1' });
      },
      'failed',
      143,
    ),
  'reasons that the cloud and chaos bear out': (r) => {
    r.states('jc-a-g1', 2, ['READY', 'PREEMPTED', 'gone']);
    r.event('api-call', 'jc-a-g2', 3, { method: 'CreateNode', code: 'RESOURCE_EXHAUSTED', message: 'no "capacity"' });
    r.deed(1, 'verb', { job: 'a' });
    r.deed(0, 'foreign', { resource: 'z/nodes/jc-a-g3' });
    r.states('jc-a-g3', 0, ['READY']);
    const said = [
      'paused: stopped by alice',
      'evicting: slice 0 was preempted by the provider: the node is PREEMPTED; trying again (1 of 50)',
      'evicting: Cloud TPU refused slice 0 in z: no "capacity"',
      'evicting: Cloud TPU refused slice 0 in z: the node of this name belongs to somebody else',
    ];
    saying(r, ...said);
  },
  'a job whose cancel came': (r) => {
    r.deed(1, 'cancel', { job: 'a' });
    endedJob(r, (job) => r.command(job, 0, { term: '{"cause":"cancel"}', code: 0 }), 'cancelled');
  },
  'a job that was terminated, with what it had not stored': (r) => {
    r.deed(1, 'terminate', { job: 'a' });
    endedJob(r, (job) => r.command(job, 0, { stored: 'L a 1\n' }), 'terminated');
  },
  'a failure with the code of its command': (r) => endedJob(r, (job) => r.command(job, 0, { code: 3 }), 'failed', 3),
  'the last line of a command that was killed before it printed it': (r) => killed(r, 'L a 1\nL a 2\n'),
  'a lost tail that is said in the log': (r) =>
    successStoring(r, 'L a 1\njobctl: up to 1 s of output after this may be missing: the slice was lost\n'),
  'lines of jobctl between those of the command': (r) =>
    successStoring(r, 'jobctl: ulimit -n is 4096\nL a 1\nL a 2\nL a 3\n'),
  'a foreign node that chaos preempted itself': (r) => {
    foreign(r);
    r.states('jc-a-g2', 5, ['gone']);
    r.deed(4, 'preempt', { resource: 'jc-a-g2' });
  },
  'a slice of ours that has the name of a foreign node in another zone': (r) => {
    foreign(r);
    const elsewhere = 'projects/p/locations/y/nodes/jc-a-g2';
    for (const to of ['READY', 'DELETING', 'gone']) r.event('node-state', elsewhere, 5, { to, chips: 4 });
    r.event('api-call', elsewhere, 6, { method: 'DeleteNode', code: 'OK' });
  },
  'a create that met a foreign node': (r) => {
    foreign(r);
    r.event('api-call', 'jc-a-g2', 5, { method: 'CreateNode', code: 'ALREADY_EXISTS' });
  },
  'two installations, of which each deletes its own, and whose chips are more than the pool of one': (r) =>
    besideSecond(r, { t: THEIR_HOST }),
  'a worker that chaos killed, and that runs to the last after it': (r) => {
    r.deed(3, 'ended-process', { process: 'worker' });
    r.lives.push({ process: 'worker', startedAt: 0, endedAt: 3_100, how: 'SIGKILL' });
    r.lives.push({ process: 'worker', startedAt: 4_000 });
  },
  'a worker that is started while the server is down, says so and ends': (r) => {
    r.deed(3, 'ended-process', { process: 'server' });
    r.lives.push({ process: 'server', startedAt: 0, endedAt: 3_100, how: 'SIGKILL' });
    r.lives.push({ process: 'server', startedAt: 60_000 });
    r.lives.push({ process: 'worker', startedAt: 40_000, endedAt: 52_000, how: 'exit code 1' });
  },
  'as many chips as the pool has, of a request and its node once': (r) => {
    r.states('jc-a-g1', 0, ['CREATING'], 32);
    r.event('queued-resource-state', 'jc-a-g1', 0, { from: 'absent', to: 'PROVISIONING', chips: 32 });
    r.deleted('jc-a-g1', 5);
    r.event('queued-resource-state', 'jc-a-g1', 6, { from: 'DELETING', to: 'gone', chips: 32 });
  },
  'a word that host file and listener both have': (r) => {
    r.success('a');
    r.told.push(...r.told.map((told) => ({ ...told })));
  },
};
