import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../cli/doctor/finding.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { Command } from './command.js';

const PROJECT = 'my-project';
const SYSTEM = 'my-jobs-system';
const HOST = 'serviceAccount:123456789012-compute@developer.gserviceaccount.com';
const WORKER = 'serviceAccount:worker@my-project.iam.gserviceaccount.com';
const OBJECT_ADMIN = 'roles/storage.objectAdmin';
const SECURE = [{ role: OBJECT_ADMIN, members: [WORKER] }];
const AS_NEW = [
  { role: 'roles/storage.legacyBucketOwner', members: [`projectEditor:${PROJECT}`, `projectOwner:${PROJECT}`] },
];
const HOSTS_MAY = `failed system bucket writers: hosts, and so every job, may write in gs://${SYSTEM}: they run as ${HOST.split(':')[1]}, and`;
const OWN_ACCOUNT = 'workers and servers that run as this account need one of their own first';

type Bindings = readonly { readonly role: string; readonly members: readonly string[] }[];

/** What decides must be out of the hosts' reach: each way in which Google's policies let them write, on the wire. */
describe('doctor --gcp --system-bucket', function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-doctor-'));
  let command: Command;
  before(async () => {
    await cloud.start();
    command = new Command(cloud.endpoints, home, { GCE_METADATA_HOST: cloud.endpoints.metadataHost ?? '' });
    await store('POST', `?project=${PROJECT}`, { name: SYSTEM, location: 'us-central1' });
    await store('POST', `?project=${PROJECT}`, { name: 'my-jobs', location: 'us-central1' });
  });
  after(async () => {
    await command.end();
    await cloud.stop();
    rmSync(home, { recursive: true });
  });
  beforeEach(async () => {
    await cloud.become({ roles: ['roles/owner'] });
    await cloud.project({});
    await policy(SECURE);
  });

  async function store(method: string, path: string, body?: object): Promise<void> {
    const url = `${cloud.endpoints.store}/storage/v1/b${path}`;
    const answer = await cloud.ask(url, { method, token: await cloud.token(), ...(body && { body }) });
    assert.equal(answer.status, 200, answer.text);
  }
  const policy = (bindings: Bindings): Promise<void> => store('PUT', `/${SYSTEM}/iam`, { bindings });

  async function look(...args: readonly string[]): Promise<readonly Finding[]> {
    const words = ['doctor', '--gcp', '--google-project', PROJECT, '--bucket', 'my-jobs', '--output', 'json'];
    const { stdout, stderr } = await command.run(...words, '--system-bucket', SYSTEM, ...args);
    assert.equal(stderr, '');
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] };
    return findings.filter(({ check }) => check.startsWith('system bucket'));
  }
  const told = (findings: readonly Finding[]): readonly string[] =>
    findings.map(({ check, state, what, remedy }) => `${state} ${check}: ${what}${remedy ? `; ${remedy}` : ''}`);

  it('is ok where workers alone may write, and names who may', async () => {
    assert.deepEqual(told(await look()), [
      `ok system bucket: gs://${SYSTEM} can be read and written`,
      `ok system bucket writers: gs://${SYSTEM} is not written by hosts (${HOST.split(':')[1]}); who may write by its policy: ${WORKER}`,
    ]);
  });

  const cases: Record<string, { bucket?: Bindings; project?: Bindings; args?: readonly string[]; says: string }> = {
    "the hosts' account in the bucket's policy": {
      bucket: [...SECURE, { role: 'roles/storage.objectCreator', members: [HOST] }],
      says: `${HOSTS_MAY} it has roles/storage.objectCreator on gs://${SYSTEM}; an owner runs 'gcloud storage buckets remove-iam-policy-binding gs://${SYSTEM} --member=${HOST} --role=roles/storage.objectCreator'; ${OWN_ACCOUNT}`,
    },
    'an account that a job file or a flag names': {
      bucket: [{ role: OBJECT_ADMIN, members: [WORKER] }],
      args: ['--service-account', WORKER.split(':')[1] ?? ''],
      says: `failed system bucket writers: hosts, and so every job, may write in gs://${SYSTEM}: they run as ${WORKER.split(':')[1]}, and it has ${OBJECT_ADMIN} on gs://${SYSTEM}; an owner runs 'gcloud storage buckets remove-iam-policy-binding gs://${SYSTEM} --member=${WORKER} --role=${OBJECT_ADMIN}'; ${OWN_ACCOUNT}`,
    },
    'the default account, an editor of the project, by the policy of every new bucket': {
      bucket: AS_NEW,
      project: [{ role: 'roles/editor', members: [HOST] }],
      says: `${HOSTS_MAY} projectEditor:${PROJECT} has roles/storage.legacyBucketOwner on gs://${SYSTEM}; an owner runs 'gcloud storage buckets remove-iam-policy-binding gs://${SYSTEM} --member=projectEditor:${PROJECT} --role=roles/storage.legacyBucketOwner'; ${OWN_ACCOUNT}`,
    },
    'a role on the whole project': {
      project: [{ role: OBJECT_ADMIN, members: [WORKER, HOST] }],
      says: `${HOSTS_MAY} it has ${OBJECT_ADMIN} on projects/${PROJECT}; an owner runs 'gcloud projects remove-iam-policy-binding ${PROJECT} --member=${HOST} --role=${OBJECT_ADMIN}'; ${OWN_ACCOUNT}`,
    },
    'a bucket that is open to all': {
      bucket: [{ role: 'roles/storage.objectUser', members: ['allUsers'] }],
      says: `failed system bucket writers: everybody on the internet may write in gs://${SYSTEM} (allUsers has roles/storage.objectUser); an owner runs 'gcloud storage buckets remove-iam-policy-binding gs://${SYSTEM} --member=allUsers --role=roles/storage.objectUser'`,
    },
  };
  for (const [name, { bucket = SECURE, project = [], args = [], says }] of Object.entries(cases))
    it(`tells of ${name}, and calls nothing of it ok`, async () => {
      await policy(bucket);
      await cloud.project({ roleBindings: project as never });
      const found = await look(...args);
      assert.deepEqual(told(found).slice(1), [says]);
    });

  it('lets the policy of a new bucket pass where the hosts have no basic role', async () => {
    await policy(AS_NEW);
    await cloud.project({ roleBindings: [{ role: 'roles/viewer', members: [HOST] }] as never });
    assert.deepEqual(
      (await look()).map(({ state }) => state),
      ['ok', 'ok'],
    );
  });

  it('does not call ok what it may not see: the policy of the bucket, or of the project', async () => {
    for (const denied of ['storage.buckets.getIamPolicy', 'resourcemanager.projects.getIamPolicy']) {
      await cloud.become({ roles: ['roles/owner'], denied: [denied] });
      const [, writers, ...more] = await look();
      assert.deepEqual([writers?.state, more], ['warning', []]);
      assert.match(writers?.what ?? '', new RegExp(`^could not look: .*${denied.replaceAll('.', '\\.')}`));
      assert.match(writers?.remedy ?? '', /--role=roles\/(storage\.admin|iam\.securityReviewer)/);
    }
  });

  it('refuses the job bucket, one that is not there, and one that cannot be written', async () => {
    assert.deepEqual(told(await look('--bucket', SYSTEM)), [
      `failed system bucket: gs://${SYSTEM} is the job bucket too, which hosts write; make a second one: --system-bucket`,
    ]);
    assert.deepEqual(told(await look('--system-bucket', 'no-such-bucket')), [
      `failed system bucket: gs://no-such-bucket does not exist; run 'gcloud storage buckets create gs://no-such-bucket --project=${PROJECT} --location=REGION --uniform-bucket-level-access'`,
    ]);
    await cloud.become({ roles: ['roles/owner'], denied: ['storage.objects.create'] });
    assert.match(told(await look()).join('\n'), /^failed system bucket: no storage\.objects\.create on gs:/);
  });

  it('tells of a retention policy, under which no worker can replace an object', async () => {
    await store('PATCH', `/${SYSTEM}`, { retentionPolicy: { retentionPeriod: '86400' } });
    const found = told(await look());
    await store('PATCH', `/${SYSTEM}`, { retentionPolicy: null });
    assert.ok(
      found.includes(
        `failed system bucket: gs://${SYSTEM} keeps each object unchanged for 86400 s (its retention policy), and workers replace objects there; run 'gcloud storage buckets update gs://${SYSTEM} --clear-retention-period'; a retention policy is for store.auditBucket alone`,
      ),
      found.join('\n'),
    );
    assert.equal((await look()).length, 2);
  });
});
