import { NO_RETRIES } from '../../domain/recovery/budgets.js';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { JobSpec } from '../../domain/job-spec.js';
import { slicePlan } from '../cloud/cloud-tpu-plan.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import type { SliceHost } from '../../domain/slice.js';
import { jobDetails, type JobFacts } from '../../workflows/job/details.js';
import { codeTable, MOST_ENCODED_BYTES, plain } from '../../workflows/markdown.js';
import type { SliceView } from '../../contract/job.js';
import type { LeaseRow } from '../../workflows/quota/lease-book.js';
import { poolDetails, type PoolInView } from '../../workflows/quota/queries.js';
import { sliceDetails, type SliceStage } from '../../workflows/slice/details.js';

const AT = Date.UTC(2026, 10, 21, 14, 50, 37);
const UTC = '2026-11-21 14:50:37 UTC';
const encoded = (text: string): number => encodeURIComponent(text).length;

/** What Markdown, HTML, a URL and a table might stumble over. */
const ANY = fc.constantFrom('a', ' ', '\n', '*', '`', '<', '|', '&', '%', 'é', '漢', '\u{1f600}', '\ud800');

const SPEC: JobSpec = {
  name: 'train',
  pool: 'default',
  priority: 3,
  slices: 1,
  env: {},
  tpu: {
    allocationMode: 'queued-resources',
    accelerator: 'v5litepod-16',
    zones: ['us-central1-a'],
    runtimeVersion: 'r',
    pricing: 'spot',
    tags: [],
    metadata: {},
    labels: {},
    externalIps: true,
  },
  modules: ['command'],
  command: { run: 'python3 train.py\nmore', hosts: 'all' },
  graceSeconds: 30,
  retries: { preemption: 20, infrastructure: 5, task: 0, requested: 20 },
};
const hosts = (number: number): SliceHost[] =>
  Array.from({ length: number }, (_, index) => ({
    reach: 'ssh',
    index,
    internalIp: `10.130.0.${index}`,
    externalIp: `34.123.117.${index}`,
  }));
const sliceView = (index: number, hostCount: number, more: Partial<SliceView> = {}): SliceView => ({
  index,
  generation: 1,
  ref: {
    kind: 'cloud-tpu',
    googleProject: 'g',
    zone: 'us-central1-a',
    name: `jc-train-s${index}-g1`,
    mode: 'queued-resources',
  },
  state: 'ready',
  hosts: hosts(hostCount),
  detail: 'ready',
  ...more,
});
const job = (more: Partial<JobFacts> = {}): JobFacts => ({
  id: 'train-x7',
  spec: SPEC,
  settings: { user: 'alice', project: 'vision', bucket: 'b' },
  phase: JobPhase.Running,
  phaseSince: AT,
  attempt: 1,
  spent: NO_RETRIES,
  slices: [],
  events: [],
  ...more,
});
const OUTCOME: Outcome = {
  result: 'failed',
  exitCode: 3,
  attempts: 2,
  preemptions: 1,
  submittedAt: AT,
  startedAt: AT,
  endedAt: AT,
};

describe('what the Web UI shows of a job', () => {
  const waits: Record<string, { facts: Partial<JobFacts>; want: RegExp }> = {
    'a queued one waits for units of its pool, and names the workflow that has its place': {
      facts: { phase: JobPhase.Queued },
      want: /waits for 16 v5litepod of pool default\. Its place in line is .*`quota\/default`/,
    },
    'a provisioning one waits for the slices that are not ready': {
      facts: {
        phase: JobPhase.Provisioning,
        spec: { ...SPEC, slices: 3 },
        slices: [sliceView(0, 4), sliceView(1, 0, { state: 'starting' })],
      },
      want: /waits for Cloud TPU to give 2 of 3 slices \(spot\)/,
    },
    'one that is set up says where its modules print': {
      facts: { phase: JobPhase.SettingUp },
      want: /`jobctl logs train-x7 --module NAME`/,
    },
    'a running one waits for its command': {
      facts: {},
      want: /waits for the command to end on all hosts: python3 train\.py \.\./,
    },
    'one without a command holds its slices until it is cancelled': {
      facts: { spec: (({ command: _, ...rest }) => rest)(SPEC) },
      want: /holds its slices until it is cancelled/,
    },
    'an ended one has its exit code and what was spent': {
      facts: { phase: JobPhase.Failed, outcome: OUTCOME },
      want: /exit code is 3; 2 attempts, 1 preemption; ended 2026/,
    },
  };
  for (const [name, { facts, want }] of Object.entries(waits))
    it(name, () => assert.match(jobDetails(job(facts)), want));

  it('has the phase, since when and why', () => {
    const text = jobDetails(job({ why: 'attempt 1 on 4 hosts in us-central1-a' }));
    assert.ok(text.includes(`**running** since ${UTC}: attempt 1 on 4 hosts in us-central1-a\n`), text);
  });

  it('has every host with its index and addresses', () => {
    const text = jobDetails(job({ slices: [sliceView(0, 2), sliceView(1, 1)], spec: { ...SPEC, slices: 2 } }));
    const table = [
      'SLICE  HOST  INTERNAL IP  EXTERNAL IP',
      '0      0     10.130.0.0   34.123.117.0',
      '0      1     10.130.0.1   34.123.117.1',
      '1      0     10.130.0.0   34.123.117.0',
    ];
    assert.ok(text.includes(['```', ...table, '```'].join('\n')), text);
  });

  it('preemptions by quota stand beside the budgets, where there were any', () => {
    assert.match(jobDetails(job({ quotaPreemptions: 2 })), /command\. Preempted by quota, which no budget ends: 2\n/);
    assert.doesNotMatch(jobDetails(job()), /by quota/);
  });

  it('a label comes first, and nothing is said where there is none', () => {
    const { settings } = job();
    const rehearsed = jobDetails(job({ settings: { ...settings, label: 'REHEARSAL' } }));
    assert.match(rehearsed, /^\*\*REHEARSAL: not on real Cloud TPUs\*\*\n/);
    assert.doesNotMatch(jobDetails(job()), /REHEARSAL|undefined/);
  });

  it('tells why the attempt before ended while the job is open, not after', () => {
    const setback = 'slice 0 was preempted by the provider: the node is PREEMPTED';
    assert.match(jobDetails(job({ setback })), /\*\*Before that:\*\* slice 0 was preempted/);
    const ended = jobDetails(job({ setback, phase: JobPhase.Failed, outcome: OUTCOME }));
    assert.doesNotMatch(ended, /Before that|Request Cancellation|-f`/);
  });

  it('stays short with a thousand hosts, and says how many it left out', () => {
    const slices = Array.from({ length: 16 }, (_, index) => sliceView(index, 64));
    const text = jobDetails(job({ slices, spec: { ...SPEC, slices: 16 } }));
    assert.ok(encoded(text) <= MOST_ENCODED_BYTES, `${encoded(text)} bytes`);
    assert.match(text, /\.\. and 992 more hosts: `jobctl status train-x7`/);
    assert.match(text, /jobctl logs train-x7 -f/, 'what an operator does next is kept');
  });

  it('stays short whatever others have written', () => {
    let cut = 0;
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: ANY, size: 'max', maxLength: 260 }), { minLength: 9, maxLength: 9 }),
        (texts) => {
          const [why = '', setback = '', user = '', ...events] = texts;
          const facts = job({
            why,
            setback,
            settings: { user, project: user, bucket: 'b' },
            slices: Array.from({ length: 8 }, (_, index) => sliceView(index, 8, { detail: why })),
            events: events.map((text) => ({ at: AT, text })),
          });
          const text = jobDetails(facts);
          if (text.trim().endsWith('`jobctl status train-x7`')) cut += 1;
          assert.ok(encoded(text) <= MOST_ENCODED_BYTES, `${encoded(text)} bytes`);
          assert.match(text, /\*\*running\*\* since/);
        },
      ),
      { numRuns: 50 },
    );
    assert.ok(cut > 5, `only ${cut} of 50 were ever too long`);
  });
});

describe('text of others in the Web UI', () => {
  const cases: Record<string, { text: string; most?: number; want: string }> = {
    'is no HTML': { text: '<b>x</b> & y', want: '\\<b\\>x\\</b\\> \\& y' },
    'is no Markdown': { text: '**a** _b_ `c` [d](e) # |', want: '\\*\\*a\\*\\* \\_b\\_ \\`c\\` \\[d\\](e) \\# \\|' },
    'is one line': { text: ' a\n\nb\t c ', want: 'a b c' },
    'is cut between characters, not inside one': {
      text: '\u{1f600}'.repeat(9),
      most: 6,
      want: `${'\u{1f600}'.repeat(4)} ..`,
    },
    'is not cut where it just fits': { text: 'abcdef', most: 6, want: 'abcdef' },
    'can be written as a URL though it is no Unicode': { text: 'a\ud800', want: 'a\ufffd' },
  };
  for (const [name, { text, most, want }] of Object.entries(cases))
    it(name, () => assert.equal(plain(text, most), want));

  it('cannot end a code block', () => {
    assert.equal(
      codeTable([
        ['A', 'B'],
        ['```x', 'y'],
      ]),
      '```\nA   B\n x  y\n```',
    );
  });
});

describe('what the Web UI shows of a slice', () => {
  const REF = sliceView(0, 0).ref;
  const LEASE = { pool: 'default', job: 'train-x7', run: 'r', number: 2 };
  const text = (stage: SliceStage, more: object = {}): string =>
    sliceDetails({
      ref: REF,
      plan: slicePlan('jc-train-g1', 'queued-resources', { runtimeVersion: 'v2-alpha' }),
      lease: LEASE,
      stage,
      since: AT,
      ...more,
    });

  const stages: Record<string, { stage: SliceStage; want: RegExp }> = {
    'one that asks for its lease creates nothing': {
      stage: { kind: 'asking-lease' },
      want: /nothing is created before/,
    },
    'one whose create call had no answer says what the call met': {
      stage: { kind: 'creating', unanswered: 'DEADLINE_EXCEEDED' },
      want: /no answer \(DEADLINE\\_EXCEEDED\)/,
    },
    'a provisioned one names the gcloud command that asks Google': {
      stage: { kind: 'awaiting' },
      want: /`gcloud compute tpus queued-resources describe jc-train-s0-g1 --zone us-central1-a`/,
    },
    'a ready one has its hosts': {
      stage: { kind: 'ready', uid: '1', hosts: hosts(2) },
      want: /\n1     10\.130\.0\.1   34\.123\.117\.1\n/,
    },
    'a lost one says what was seen, and who decides': {
      stage: { kind: 'lost', message: 'the node is PREEMPTED' },
      want: /the node is PREEMPTED\. Job `train-x7` decides/,
    },
    'one that is deleted says why, and how long an unanswered call may still take effect': {
      stage: { kind: 'deleting', reason: 'job train-x7 failed', notBefore: AT },
      want: /job train-x7 failed\. It ends when .* not before 2026-11-21 14:50:37 UTC/,
    },
    'a gone one left nothing': { stage: { kind: 'gone' }, want: /nothing of it is left/ },
  };
  for (const [name, { stage, want }] of Object.entries(stages)) it(name, () => assert.match(text(stage), want));

  it('says whether its lease stands', () => {
    assert.match(text({ kind: 'awaiting' }), /Lease:\*\* 2 of job `train-x7` .* not answered for yet/);
    assert.match(text({ kind: 'awaiting' }, { isLeaseHeld: true }), /`quota\/default`, held/);
    assert.match(text({ kind: 'awaiting' }, { isLeaseHeld: false }), /`quota\/default`, not held/);
  });

  it('stays short with 256 hosts', () => {
    const ready = text({ kind: 'ready', uid: '1', hosts: hosts(256) });
    assert.ok(encoded(ready) <= MOST_ENCODED_BYTES, `${encoded(ready)} bytes`);
    assert.match(ready, /\.\. and 224 more hosts/);
  });
});

describe('what the Web UI shows of a pool', () => {
  const row = (name: string, more: Partial<LeaseRow> = {}, demand: Partial<LeaseRow['demand']> = {}): LeaseRow => ({
    lease: { pool: 'p', job: name, run: 'r', number: 1 },
    demand: { project: 'vision', user: 'alice', priority: 3, submittedAt: AT, units: { v4: 8 }, ...demand },
    state: 'waiting',
    tier: 0,
    slices: [],
    gone: [],
    sequences: {},
    ...more,
  });
  const held = (name: string): LeaseRow => row(name, { state: 'held', startedAt: AT });
  const POOL: PoolInView = {
    pool: 'p',
    config: {
      kind: 'limited',
      tiers: [{ v4: 32 }],
      projects: [{ name: 'vision', shares: {}, nominal: [{ v4: 8 }], members: [] }],
    },
    leased: [held('a')],
    waiting: [],
    at: AT,
  };

  it('counts what is in use and free', () => {
    assert.match(poolDetails(POOL), /\*\*pool p:\*\* 8 v4 in use, 24 v4 free of 32 v4; 1 lease, 0 waiting/);
  });

  it('shows who waits in the order of service', () => {
    const waiting = [row('late', {}, { submittedAt: AT + 1 }), row('first', {}, { priority: 1 }), row('early')];
    const lines = poolDetails({ ...POOL, waiting }).split('\n');
    const names = lines.flatMap((line) => /^[123]  (\w+)/.exec(line)?.[1] ?? []);
    assert.deepEqual(names, ['first', 'early', 'late']);
  });

  it('says that no file is needed, that none could be read, or that the last good one holds', () => {
    const { config, ...unread } = POOL;
    assert.ok(config);
    assert.match(poolDetails({ ...unread, config: { kind: 'unlimited' } }), /no quota file: whoever asks is granted/);
    assert.match(poolDetails({ ...unread, problem: 'line 3' }), /line 3\n\nNo quota file could be read: nothing/);
    assert.match(
      poolDetails({ ...POOL, problem: 'line 3' }),
      /has a problem:\*\* line 3\n\n.*the last good one, in force/,
    );
  });

  it('shows that chips of a job that let go still count', () => {
    const leased = [row('b', { state: 'draining', startedAt: AT })];
    assert.match(poolDetails({ ...POOL, leased }), /b +vision +8 v4 +draining/);
  });

  it('stays short with 10,000 who wait and 500 leases', () => {
    const waiting = Array.from({ length: 10_000 }, (_, index) => row(`job-of-a-long-name-${index}`));
    const leased = Array.from({ length: 500 }, (_, index) => held(`job-of-a-long-name-held-${index}`));
    const text = poolDetails({ ...POOL, waiting, leased });
    assert.ok(encoded(text) <= MOST_ENCODED_BYTES, `${encoded(text)} bytes`);
    assert.match(text, /\.\. and 9980 more\n/);
    assert.match(text, /\.\. and 490 more\n/);
  });
});
