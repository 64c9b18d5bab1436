import assert from 'node:assert/strict';
import {
  exitCodeOfCertificate,
  verdictOf,
  type Certificate,
  type CertifiedPreemption,
  renderCertificate,
} from '../../cli/local/rehearse/certificate.js';
import { lostPercent } from '../../cli/local/rehearse/lost-work.js';
import type { LostWork } from '../../cli/local/rehearse/lost-work.js';
import { preemptionPlan } from '../../cli/local/rehearse/preemption-plan.js';
import { attemptOn, preemptionsIn, startsIn } from '../../cli/local/rehearse/after-the-end.js';
import type { JournalEvent } from '../../rehearsal/journal.js';

const NODE = 'projects/rehearsal/locations/us-central1-a/nodes/jc-train-g1';

function counted(redone: number, made: number): LostWork {
  return { kind: 'counted', redone, made, lastBefore: String(made), firstAfter: String(made - redone + 1) };
}

function preemption(lost: LostWork, more: Partial<CertifiedPreemption> = {}): CertifiedPreemption {
  return {
    ...{ afterMs: 65_000, node: 'jc-train-g1', attempt: 1, mode: 'preempted', noticeMs: null, recoveredMs: 2_340 },
    ...{ lost, lostPercent: lostPercent(lost) ?? null },
    ...more,
  };
}

function certificate(preemptions: readonly CertifiedPreemption[], more: Partial<Certificate> = {}): Certificate {
  return {
    ...{ v: 1, label: 'REHEARSAL', file: 'train.yaml', job: 'train', slice: 'v5litepod-16' },
    outcome: { result: 'succeeded', exitCode: 0, attempts: 3, preemptions: 2, submittedAt: 1_000, endedAt: 181_000 },
    attempts: [
      { attempt: 1, end: 'slices-lost' },
      { attempt: 2, end: 'exited' },
    ],
    ...{ wantedPreemptions: preemptions.length, preemptions, verdict: verdictOf(preemptions) },
    measure: { kind: 'counter', name: 'step N', host: 0 },
    ...{ leaks: { leaks: [], leases: [] }, timeScale: 1, confinement: 'overlay', seed: 7 },
    ...{ again: 'jobctl rehearse train.yaml --seed 7' },
    versions: { jobctl: '0.1.0', node: '20.20.2', temporalSdk: '1.24.0' },
    ...more,
  };
}

const BY_LINES = { kind: 'lines', reason: 'its output has no step counter' } as const;
const text = (of: Certificate): string => renderCertificate(of).join('\n');

describe('the certificate of a rehearsal', () => {
  it('begins with REHEARSAL, and shows what each preemption cost and how to do it again', () => {
    const second = preemption(counted(0, 60), { afterMs: 100_000, attempt: 2, noticeMs: 30_010 });
    assert.deepEqual(renderCertificate(certificate([preemption(counted(5, 45)), second])), [
      'REHEARSAL of train.yaml: nothing of it ran on real Cloud TPUs',
      '',
      '  It resumed each time and lost 11 % and 0 % of its work.',
      '',
      '  job        train   v5litepod-16',
      '  outcome    succeeded, exit code 0, in 3m 00s of wall time',
      '  attempts   1 (slices-lost), 2 (exited)',
      '  preempted  twice',
      "  measured   by the counter 'step N' in the output of host 0; what a host printed in the last second before a preemption without notice may be missing",
      '  leaks      0, by an independent listing (`jobctl audit leaks`)',
      '',
      '  #  AFTER   ATTEMPT  NOTICE           RUNS AGAIN IN  WORK LOST',
      '  1  1m 05s  1        none, preempted  2.3 s          11 %: it was at 45 and went on at 41; 5 of 45 printed steps again',
      '  2  1m 40s  2        30s              2.3 s          0 %: it was at 60 and went on at 61',
      '',
      '  clock     all times are wall time',
      '  files     each host had a root of its own: what the job wrote there is not on this computer',
      '  versions  jobctl 0.1.0, Node.js 20.20.2, Temporal SDK 1.24.0',
      '  seed      7; the same again: jobctl rehearse train.yaml --seed 7',
    ]);
  });

  const SENTENCES: Readonly<Record<string, readonly [readonly LostWork[], RegExp]>> = {
    'a job that does not checkpoint is told so': [
      [counted(20, 20), counted(30, 30)],
      /\n {2}It lost 100 % of its work twice: it began again at its beginning\.\n[^]*store checkpoints where/,
    ],
    'one that lost all of it once of two times, too': [
      [counted(20, 20), counted(3, 30)],
      /It lost 100 % of its work once: it began again at its beginning, of 2 preemptions\./,
    ],
    'of one without a counter nothing is invented': [
      [{ kind: 'unknown', reason: 'its output has no step counter' }],
      /Whether it resumed is not measurable: .*--progress REGEX[^]* \?: its output has no step counter/,
    ],
    'one that had made nothing shows nothing': [
      [{ kind: 'none-made' }],
      /Nothing is shown about its checkpoints[^]* 0 %: it had not printed a step yet/,
    ],
  };
  for (const [name, [lost, want]] of Object.entries(SENTENCES))
    it(name, () =>
      assert.match(
        text(
          certificate(
            lost.map((each) => preemption(each)),
            { measure: BY_LINES },
          ),
        ),
        want,
      ),
    );

  it('says how many preemptions did not happen, and what to do', () => {
    const short = certificate([preemption(counted(1, 9))], { wantedPreemptions: 2 });
    assert.match(text(short), /preempted {2}1 of 2 times: the job ended before; give it more steps, --after/);
  });

  it('says that only the cloud and the waits for it ran faster, and that nothing was confined', () => {
    const scaled = text(certificate([preemption(counted(1, 9))], { timeScale: 20, confinement: 'none' }));
    assert.match(scaled, /ran 20 times as fast, the job's own processes did not/);
    assert.match(scaled, /UNCONFINED: the job ran on this computer's own files/);
  });
});

describe('the exit code of a rehearsal', () => {
  const good = certificate([preemption(counted(1, 9))]);
  const all = certificate([preemption(counted(9, 9))]);
  const unknown = certificate([preemption({ kind: 'unknown', reason: '?' })]);
  const failed = { ...good, outcome: { ...good.outcome, result: 'failed', exitCode: 7 } } as const;
  const lease = {
    lease: { pool: 'default', job: 'train', run: 'r', number: 1 },
    state: 'held',
    slices: [],
    why: 'closed',
  };
  const leaking = { ...good, leaks: { leaks: [], leases: [lease] } };
  const cases: readonly (readonly [string, Certificate, boolean, number])[] = [
    ['is 0 where the job resumed', good, true, 0],
    ['is 0 where it lost all of its work and nobody minds', all, false, 0],
    ['is 1 where it lost all of its work, with --require-resume', all, true, 1],
    ['is 1 where it is not known, with --require-resume', unknown, true, 1],
    ['is 0 where it is not known and nobody minds', unknown, false, 0],
    ['is 1 where something leaked', leaking, false, 1],
    ['is 1 where it was preempted less often than asked', { ...good, wantedPreemptions: 2 }, false, 1],
    ["is the command's own where that failed", failed, false, 7],
  ];
  for (const [name, of, requiresResume, want] of cases)
    it(name, () => assert.equal(exitCodeOfCertificate(of, { requiresResume }), want));
});

describe('preemptions in the journal of a cloud', () => {
  const event = (seq: number, kind: string, subject: string, details: object): JournalEvent => {
    return { seq, at: seq * 60_000, wall: seq * 1000, kind, subject, details: { ...details } };
  };
  const state = (seq: number, from: string, to: string, nodeId = '1'): JournalEvent =>
    event(seq, 'node-state', NODE, { from, to, nodeId });

  it('are nodes that were taken, on the wall clock, and none that was deleted', () => {
    const events = [
      state(1, 'CREATING', 'READY'),
      state(2, 'READY', 'PREEMPTED'),
      state(3, 'PREEMPTED', 'DELETING'),
      state(4, 'DELETING', 'gone'),
      state(5, 'READY', 'gone', '2'),
      state(6, 'CREATING', 'gone', '3'),
      state(7, 'READY', 'DELETING', '4'),
    ];
    assert.deepEqual(preemptionsIn(events), [
      { at: 2000, node: 'jc-train-g1', nodeId: '1', mode: 'preempted' },
      { at: 5000, node: 'jc-train-g1', nodeId: '2', mode: 'vanish' },
    ]);
  });

  it('are also of nodes that were let go while their VMs shut down, with the notice that they were to have', () => {
    const events = [
      event(3, 'admin', 'preempt', { name: NODE, noticeMs: 5_000 }),
      event(3, 'vm-power', NODE, { power: 'stopping', nodeId: '1' }),
      state(4, 'READY', 'DELETING'),
      state(5, 'DELETING', 'gone'),
      state(6, 'READY', 'DELETING', '2'),
    ];
    const want = { at: 4000, node: 'jc-train-g1', nodeId: '1', mode: 'preempted', noticeMs: 1000, isLetGo: true };
    assert.deepEqual(preemptionsIn(events, 5), [want]);
    const husk = [...events.slice(0, 2), state(4, 'READY', 'PREEMPTED'), state(5, 'PREEMPTED', 'DELETING')];
    assert.deepEqual(
      preemptionsIn(husk, 5).map(({ at, noticeMs }) => [at, noticeMs]),
      [[4000, 1000]],
    );
  });

  it('had the notice that was given for that node, by whomever', () => {
    const asked = (name: string, how: object): JournalEvent => event(3, 'admin', 'preempt', { name, ...how });
    const noticeOf = (asking: JournalEvent): number | undefined =>
      preemptionsIn([asking, state(33, 'READY', 'PREEMPTED')])[0]?.noticeMs;
    assert.equal(noticeOf(asked(NODE, { notice: true })), 30_000);
    assert.equal(noticeOf(asked('jc-train-g1', { noticeMs: 1_800_000, by: 'script' })), 30_000);
    assert.equal(noticeOf(asked('jc-train-g1', { mode: 'preempted' })), undefined);
    assert.equal(noticeOf(asked('jc-other-g1', { notice: true })), undefined);
  });

  it('belong to the last attempt on that node', () => {
    const attempts = [
      { attempt: 1, nodes: [{ uid: '1' }] },
      { attempt: 2, nodes: [{ uid: '1' }, { uid: '2' }] },
    ];
    assert.deepEqual([attemptOn('1', attempts), attemptOn('2', attempts), attemptOn('3', attempts)], [2, 2, undefined]);
  });

  it('are over when the next attempt starts, by the log of the job', () => {
    const log = [
      '2026-11-21T18:27:38.397Z setting-up: modules command on 4 hosts',
      '2026-11-21T18:28:31.161Z running: attempt 1 on 4 hosts in us-central1-a',
      '2026-11-21T18:29:00.000Z running: attempt 1 on 4 hosts in us-central1-a',
      '2026-11-21T18:30:06.716Z running: attempt 2 on 4 hosts in us-central1-a',
    ];
    assert.deepEqual(
      [...startsIn(log.join('\n'))],
      [
        [1, Date.parse('2026-11-21T18:28:31.161Z')],
        [2, Date.parse('2026-11-21T18:30:06.716Z')],
      ],
    );
  });
});

describe('the plan of preemptions', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(preemptionPlan(7, 20, 'mixed'), preemptionPlan(7, 20, 'mixed'));
    assert.notDeepEqual(preemptionPlan(7, 20, 'mixed'), preemptionPlan(8, 20, 'mixed'));
  });

  it('mixed gives notice to every other one; a vanishing slice gives none', () => {
    for (let seed = 0; seed < 50; seed++) {
      const plan = preemptionPlan(seed, 10, 'mixed');
      assert.equal(plan.filter(({ noticeMs }) => noticeMs !== undefined).length, 5, `seed ${seed}`);
      assert.ok(!plan.some(({ noticeMs, mode }) => noticeMs !== undefined && mode === 'vanish'), `seed ${seed}`);
    }
  });

  it('draws both ways of taking, every slice, and 12 to 30 steps', () => {
    const plan = preemptionPlan(1, 1000, 'none');
    assert.deepEqual(new Set(plan.map(({ mode }) => mode)), new Set(['preempted', 'vanish']));
    assert.deepEqual(new Set(plan.map(({ slice }) => Math.floor(slice * 4))), new Set([0, 1, 2, 3]));
    const marks = plan.map(({ afterMarks }) => afterMarks);
    assert.deepEqual([Math.min(...marks), Math.max(...marks)], [12, 30]);
  });
});
