import assert from 'node:assert/strict';
import type { AskedJob, StoredLog } from '../../chaos/oracle/evidence.js';
import { judge } from '../../chaos/oracle/judge.js';
import { tellStory } from '../../chaos/oracle/story.js';
import { parseTold } from '../../chaos/oracle/told.js';
import { type Count, COUNTS, totalsOf } from '../../chaos/oracle/verdict.js';
import { RecordSet } from './record-set.js';

type Forge = (records: RecordSet) => void;

/** One fault each, and nothing else that is wrong. */
const PLANTED: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
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

/** What looks like a fault, and is none. */
const RIGHT: Readonly<Record<string, Forge>> = {
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

function runningJob(records: RecordSet): void {
  records.job('a');
  records.states('jc-a-g1', 0, ['CREATING', 'READY']);
  records.command('a', 1);
}

/** A job that succeeds on its third generation, and gave these reasons on the way. */
function saying(records: RecordSet, ...lines: readonly string[]): void {
  records.job('a');
  records.command('a', 10, { code: 0, node: 'jc-a-g4' });
  const jobLog = lines.map((line) => `1970-01-01T00:00:05.000Z ${line}\n`).join('');
  records.ended('a', 'succeeded', { jobLog });
}

/** Its work is done at 4 s. */
function doneJob(records: RecordSet): void {
  records.job('a');
  records.states('jc-a-g1', 0, ['CREATING', 'READY']);
  records.command('a', 1, { code: 0 });
}

function secondAttempt(records: RecordSet, node = 'jc-a-g2'): void {
  if (node !== 'jc-a-g1') records.states(node, 8, ['CREATING', 'READY']);
  records.command('a', 10, { attempt: 2, code: 0, node });
  if (node !== 'jc-a-g1') records.deleted(node, 20);
  records.ended('a', 'succeeded');
}

function endedJob(records: RecordSet, run: (job: string) => void, phase = 'succeeded', exitCode?: number): void {
  records.job('a');
  run('a');
  records.ended('a', phase, exitCode === undefined ? {} : { exitCode });
}

function successStoring(records: RecordSet, text: string): void {
  records.success('a');
  records.stored.splice(0, 1, { job: 'a', attempt: 1, host: 0, text });
}

/** A cancelled job, whose command was killed. */
function killed(records: RecordSet, stored: string): void {
  records.deed(1, 'cancel', { job: 'a' });
  endedJob(records, (job) => records.command(job, 0, { stored, goneAt: 5 }), 'cancelled');
}

/** A node of somebody else's, with the name that a slice of ours would get. */
function foreign(records: RecordSet): void {
  records.deed(0, 'foreign', { resource: 'z/nodes/jc-a-g2' });
  records.states('jc-a-g2', 0, ['READY']);
}

describe('the oracle of chaos', () => {
  for (const [what, [count, forge]] of Object.entries(PLANTED))
    it(`counts ${what} once: ${count}`, () => {
      const records = new RecordSet();
      forge(records);
      const findings = judge(records.evidence());
      assert.deepEqual(totalsOf(findings), { ...totalsOf([]), [count]: 1 }, JSON.stringify(findings, null, 2));
      assert.match(tellStory(records.evidence(), findings)[0] as string, new RegExp(`^${count.toUpperCase()}: `, 'u'));
    });

  it('has a planted fault for each count', () => {
    const planted = new Set(Object.values(PLANTED).map(([count]) => count));
    assert.deepEqual(
      [...COUNTS].filter((count) => !planted.has(count)),
      [],
    );
  });

  for (const [what, forge] of Object.entries(RIGHT))
    it(`counts nothing for ${what}`, () => {
      const records = new RecordSet();
      forge(records);
      assert.deepEqual(judge(records.evidence()), []);
    });

  it('reads what a command told, and no half of it', () => {
    const line = '1795310000123456\tjob\t2\t1\t3\tp.1\t7\tLINE\tL a\tb';
    assert.deepEqual(parseTold(line), {
      ...{ at: 1_795_310_000_123, job: 'job', attempt: 2, slice: 1, host: 3, process: 'p.1', number: 7 },
      ...{ kind: 'LINE', text: 'L a\tb' },
    });
    for (const broken of ['', line.slice(0, 30), line.replace('LINE', 'OTHER'), line.replace('\t2\t', '\tx\t')])
      assert.equal(parseTold(broken), undefined, broken);
  });
});
