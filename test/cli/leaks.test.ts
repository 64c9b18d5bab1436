import assert from 'node:assert/strict';
import type { AuditedResource } from '../../cloud/machines/audited-resource.js';
import {
  type JobFate,
  leakedLeases,
  leakedResources,
  ownResources,
  unreadPart,
  renderAudit,
} from '../../cli/doctor/audit/leaks.js';
import { exitCodeOf } from '../../cli/doctor/audit/audit-leaks.js';
import { labelsOf } from '../../domain/identity.js';
import { T0 } from './rows.js';

const OWNER = 'owner-1';
const GRACE_MS = 60_000;

function node(job: string, owner = OWNER): AuditedResource {
  const labels = labelsOf({ owner, job, run: 'r1', generation: 1, spec: 's' });
  const made = new Date(T0 - 600_000).toISOString();
  return {
    ...{ kind: 'node', account: 'p', zone: 'us-central1-a', name: `jc-${job}-g1`, state: 'READY' },
    ...{ labels, accelerator: 'v5litepod-16', chips: 16, createTime: made },
  };
}

const FATES = new Map<string, JobFate>([
  ['open/r1', { kind: 'open' }],
  ['just/r1', { kind: 'closed', at: T0 - GRACE_MS }],
  ['long/r1', { kind: 'closed', at: T0 - GRACE_MS - 1000 }],
  ['lost/r1', { kind: 'unknown' }],
  ['mute/r1', { kind: 'unanswered' }],
]);

describe('jobctl audit leaks', () => {
  const leaks = (...resources: AuditedResource[]) =>
    leakedResources(ownResources(resources, OWNER), FATES, T0, GRACE_MS).map(({ name, why }) => `${name}: ${why}`);

  const cases: Record<string, [AuditedResource, string[]]> = {
    'what an open job owns is none': [node('open'), []],
    'a job that closed within the grace may still be cleaning up': [node('just'), []],
    'a job that closed before it left a leak': [node('long'), ['jc-long-g1: its job closed 61 s ago']],
    'a job that Temporal does not know left a leak': [node('lost'), ['jc-lost-g1: Temporal knows no such job']],
    'a job that Temporal did not tell about is not called a leak': [node('mute'), []],
    'a job that nobody asked about is no excuse': [node('other'), ['jc-other-g1: Temporal knows no such job']],
    "what is another installation's is none of ours": [node('lost', 'owner-2'), []],
    'our owner label alone makes it ours': [
      { ...node('x'), labels: { 'jobctl-owner': OWNER } },
      ['jc-x-g1: its labels name no job'],
    ],
  };
  for (const [name, [resource, want]] of Object.entries(cases)) it(name, () => assert.deepEqual(leaks(resource), want));

  it('chips that are counted for a job that has ended are told', () => {
    const lease = (job: string) => ({
      lease: { pool: 'default', job, run: 'r1', number: 1 },
      state: 'held',
      slices: [],
    });
    const leaked = leakedLeases([lease('open'), lease('long')], FATES, T0, GRACE_MS);
    assert.deepEqual(
      leaked.map(({ lease: { job } }) => job),
      ['long'],
    );
  });

  it('prints what to do about chips that count on', () => {
    const lease = {
      lease: { pool: 'tpus', job: 'long', run: 'r1', number: 1 },
      slices: ['jc-long-g1'],
      why: 'it closed',
    };
    const printed = (more: object) =>
      renderAudit({ leaks: [], leases: [{ ...lease, state: 'draining', ...more }], ours: 0, all: 0 }, ['p']).join('\n');
    assert.match(printed({}), /lease of long: its slices are still being deleted; .*quota show/);
    const told = printed({ stuck: ['jc-long-g1: no such project'] });
    assert.match(
      told,
      /lease of long: jc-long-g1: no such project\. .*jobctl quota release long --pool tpus --because/,
    );
  });

  it('names what was not looked at, parts of one answer together, and what to do where the answer does not say it', () => {
    const gone = new Error('audit: no such project');
    const jobs = Array.from({ length: 7 }, (_, index) => unreadPart(`job ${index}`, new Error('away'), 'wait'));
    const unread = [
      unreadPart('Cloud TPU of project old', gone, 'see the docs'),
      unreadPart('the leases of quota/a', new Error('no answer', { cause: new Error('4 DEADLINE_EXCEEDED') }), 'wait'),
      unreadPart('VMs', new Error("no right: run 'gcloud auth login'"), 'wait'),
      ...jobs,
    ];
    assert.deepEqual(renderAudit({ leaks: [], leases: [], unread, ours: 0, all: 0 }, ['p']), [
      'not looked at: Cloud TPU of project old: no such project; see the docs',
      'not looked at: the leases of quota/a: no answer: 4 DEADLINE_EXCEEDED; wait',
      "not looked at: VMs: no right: run 'gcloud auth login'",
      'not looked at: job 0, job 1, job 2, job 3, job 4, and 2 more: away; wait',
      'NOT COMPLETE; so far 0 leaks, 0 leases without a job: 0 of 0 resources in p are ours',
    ]);
  });

  it('is never fine where something was not looked at, whatever was found', () => {
    const unread = [unreadPart('one', new Error('away'), 'wait')];
    const leaks = leakedResources([node('long')], FATES, T0, GRACE_MS);
    const codes = [{}, { leaks }, { unread }, { leaks, unread }].map((found) =>
      exitCodeOf({ leaks: [], leases: [], ours: 0, all: 0, ...found }),
    );
    assert.deepEqual(codes, [0, 1, 5, 5]);
  });

  it('prints name, account, zone, accelerator, state, age and job', () => {
    const found = leakedResources([node('long')], FATES, T0, GRACE_MS);
    assert.deepEqual(renderAudit({ leaks: found, leases: [], ours: 3, all: 5 }, ['p']), [
      'KIND  NAME        ACCOUNT  ZONE           ACCELERATOR   STATE  AGE  JOB   WHY',
      'node  jc-long-g1  p        us-central1-a  v5litepod-16  READY  10m  long  its job closed 61 s ago',
      'the janitor deletes these at its next sweep, each 5 minutes; what is there after two of them, delete in the console',
      '1 leak, 0 leases without a job: 3 of 5 resources in p are ours',
    ]);
  });
});
