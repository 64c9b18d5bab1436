import assert from 'node:assert/strict';
import type { AuditedResource } from '../../cloud/machines/audited-resource.js';
import { type JobFate, leakedLeases, leakedResources, ownResources } from '../../client/cli/audit/leaks.js';
import { renderAudit } from '../../client/cli/render/audit.js';
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
]);

describe('jobctl audit leaks', () => {
  const leaks = (...resources: AuditedResource[]) =>
    leakedResources(ownResources(resources, OWNER), FATES, T0, GRACE_MS).map(({ name, why }) => `${name}: ${why}`);

  const cases: Record<string, [AuditedResource, string[]]> = {
    'what an open job owns is none': [node('open'), []],
    'a job that closed within the grace may still be cleaning up': [node('just'), []],
    'a job that closed before it left a leak': [node('long'), ['jc-long-g1: its job closed 61 s ago']],
    'a job that Temporal does not know left a leak': [node('lost'), ['jc-lost-g1: Temporal knows no such job']],
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

  it('prints what to do about chips that count on, and which account is not known', () => {
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
    const unlisted = renderAudit(
      { leaks: [], leases: [], unlisted: ['Cloud TPU of project old: no'], ours: 0, all: 0 },
      [],
    );
    assert.match(unlisted.join('\n'), /^not listed, so what is there is not known: Cloud TPU of project old: no$/m);
  });

  it('prints name, account, zone, accelerator, state, age and job', () => {
    const found = leakedResources([node('long')], FATES, T0, GRACE_MS);
    assert.deepEqual(renderAudit({ leaks: found, leases: [], leasesUnknown: 'no worker', ours: 3, all: 5 }, ['p']), [
      'KIND  NAME        ACCOUNT  ZONE           ACCELERATOR   STATE  AGE  JOB   WHY',
      'node  jc-long-g1  p        us-central1-a  v5litepod-16  READY  10m  long  its job closed 61 s ago',
      'the janitor deletes these at its next sweep, each 5 minutes; what is there after two of them, delete in the console',
      'the leases could not be checked: no worker',
      '1 leak, 0 leases without a job: 3 of 5 resources in p are ours',
    ]);
  });
});
