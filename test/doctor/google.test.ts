import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Finding } from '../../cli/doctor/finding.js';
import { AuthenticatedCloud } from '../../rehearsal/test/authenticated-cloud.js';
import { AdapterProcess } from '../cloud/adapter-process.js';
import { GOOGLE_PROJECT, ZONE as ADAPTERS_ZONE } from '../cloud/cloud-tpu-plan.js';
import { Command, type Ran } from './command.js';

const PROJECT = 'my-project';
const ZONE = 'us-central1-a';
const GCP = ['doctor', '--gcp', '--google-project', PROJECT] as const;
const EXPIRED =
  "the Google login has expired, was revoked, or is not accepted: run 'gcloud auth application-default login'; of a service account: is its key still there?";
const RUN_OUT =
  "the Google login has run out: the organization asks for a new one from time to time: run 'gcloud auth application-default login'";

describe("jobctl and a Google project, over TLS with the rehearsal's tokens and permissions", function () {
  this.timeout(60_000);
  const cloud = new AuthenticatedCloud();
  const home = mkdtempSync(join(tmpdir(), 'jobctl-doctor-'));
  let onVm: Command;
  let byLogin: Pick<Command, 'run'>;

  before(async () => {
    await cloud.start();
    const { metadataHost = '', credentialsFile = '' } = cloud.endpoints;
    onVm = new Command(cloud.endpoints, home, { GCE_METADATA_HOST: metadataHost });
    byLogin = onVm.as({ GOOGLE_APPLICATION_CREDENTIALS: credentialsFile });
  });
  after(async () => {
    await onVm.end();
    await cloud.stop();
    rmSync(home, { recursive: true });
  });
  beforeEach(async () => {
    await cloud.become({ roles: ['roles/owner'] });
    await cloud.project({});
  });

  describe('doctor --gcp', () => {
    it('finds all that a job needs, who asks, and exits 0', async () => {
      const { code, findings } = await look(onVm, '--zone', ZONE, '--accelerator', 'v5litepod-16');
      assert.deepEqual(wrong(findings), ['warning bucket: none is named, so none was looked at']);
      assert.equal(findings[0]?.what, 'alice@example.com (a service account)');
      assert.equal(code, 0);
    });

    it('takes zone, type, network and addresses from a job file', async () => {
      const file = join(home, 'job.yaml');
      writeFileSync(
        file,
        `tpu: { accelerator: v6e-16, zones: [${ZONE}, us-east1-d], network: mine, subnetwork: inner, external_ips: false }\ncommand: { run: 'true' }\n`,
      );
      await cloud.project({
        networks: { mine: { autoCreateSubnetworks: false } },
        subnetworks: { 'us-central1/inner': { network: 'mine', ipCidrRange: '10.0.0.0/20' } },
      });
      const { code, findings } = await look(onVm, file);
      assert.equal(code, 1);
      assert.deepEqual(wrong(findings).slice(1), [
        'failed us-central1 subnetwork: inner has no private Google access, and hosts without external addresses cannot reach Cloud Storage then',
        'failed us-east1 subnetwork: subnetwork inner does not exist in us-east1',
        'failed firewall: no rule of network mine lets tcp:22 in (firewall policies are not looked at)',
      ]);
    });

    it('looks at the VMs of a job file for Compute Engine, and at nothing of Cloud TPU', async () => {
      const file = join(home, 'vms.yaml');
      const vms = `machine_type: g2-standard-8, count: 2, zones: [${ZONE}, us-east1-d], pricing: spot`;
      writeFileSync(file, `compute_engine: { ${vms} }\nslices: 2\ncommand: { run: 'true' }\n`);
      await cloud.project({
        disabledServices: ['tpu.googleapis.com'],
        zones: { 'us-east1-d': { machineTypes: ['n2-standard-8'] } },
        regionQuotas: {
          any: { GPUS_ALL_REGIONS: { limit: 0, usage: 0 } },
          'us-central1': { PREEMPTIBLE_NVIDIA_L4_GPUS: { limit: 0, usage: 0 }, NVIDIA_L4_GPUS: { limit: 8, usage: 5 } },
        },
      });
      const { code, findings } = await look(onVm, file);
      assert.equal(code, 1);
      assert.deepEqual(
        findings.map(({ check }) => check).filter((check) => /tpu/.test(check)),
        [],
      );
      assert.deepEqual(wrong(findings).slice(1), [
        'failed us-central1-a quota: NVIDIA_L4_GPUS: 3 of 8 are free in us-central1, and 4 are wanted',
        'failed us-east1-d machine type: us-east1-d does not have g2-standard-8',
        'warning us-east1-d quota: could not look: Google lists no quota PREEMPTIBLE_NVIDIA_L4_GPUS or NVIDIA_L4_GPUS for us-east1',
        'failed GPU quota: GPUS_ALL_REGIONS: 0 of 0 are free in all regions, and 4 are wanted',
      ]);
      assert.match(
        findings.find(({ check }) => check === 'permissions')?.what ?? '',
        /^compute\.instances\.create, .*\.list on /,
      );
    });

    it('looks for GPUs that are attached, and for rights to make VMs', async () => {
      const file = join(home, 't4.yaml');
      const vms = `machine_type: n1-standard-8, accelerator: { type: nvidia-tesla-a9, count: 1 }, zones: [${ZONE}], pricing: ondemand`;
      writeFileSync(file, `compute_engine: { ${vms} }\ncommand: { run: 'true' }\n`);
      await cloud.become({ roles: ['roles/tpu.admin', 'roles/compute.viewer', 'roles/orgpolicy.policyViewer'] });
      const { findings } = await look(onVm, file);
      const all = wrong(findings);
      assert.ok(
        all.includes('failed us-central1-a accelerator: us-central1-a does not have nvidia-tesla-a9'),
        all.join('\n'),
      );
      assert.ok(
        all.includes(
          'failed permissions: no compute.instances.create on projects/my-project, needed to create VMs; roles/compute.instanceAdmin.v1 has it',
        ),
        all.join('\n'),
      );
    });

    it('names each permission that is missing, the role that has it, and the command that gives it to whoever asks', async () => {
      await cloud.become({ roles: ['roles/tpu.viewer', 'roles/compute.viewer', 'roles/orgpolicy.policyViewer'] });
      const { code, stdout } = await onVm.run(...GCP);
      assert.equal(code, 1);
      const grant = `-> an owner runs 'gcloud projects add-iam-policy-binding ${PROJECT} --member=user:alice@example.com --role=roles/tpu.admin'`;
      assert.match(
        stdout,
        /^FAILED +permissions +no tpu\.nodes\.create on projects\/my-project, needed to create slices/m,
      );
      assert.match(
        stdout,
        /^FAILED +permissions +no tpu\.nodes\.delete on projects\/my-project, needed to delete slices/m,
      );
      assert.match(stdout, /^FAILED +service account +no iam\.serviceAccounts\.actAs on 123456789012-compute@/m);
      assert.equal(stdout.split(grant).length, 2, stdout);
      assert.match(stdout, /\n\d+ ok, \d+ warnings?, 3 FAILED\n$/);
    });

    const refusals: Record<string, { arrange: () => Promise<unknown>; says: string }> = {
      'an API that is off': {
        arrange: () => cloud.project({ disabledServices: ['tpu.googleapis.com'] }),
        says: "failed API tpu: the Cloud TPU API (tpu.googleapis.com) is not enabled in project my-project; run 'gcloud services enable tpu.googleapis.com --project=my-project' and wait a few minutes",
      },
      'a project that is not there': {
        arrange: () => cloud.project({ known: ['other-project'] }),
        says: "failed project: project my-project does not exist, or this login has no right to see it; compare its id with 'gcloud projects list'; an id is not the name nor the number",
      },
      'a VM whose access scopes leave Cloud TPU out': {
        arrange: () => cloud.become({ roles: ['roles/owner'], scopes: ['devstorage.read_only'] }),
        says: "failed project: the access scopes of this VM, or of the login, are too narrow for Google's APIs; give the VM the scope cloud-platform ('gcloud compute instances set-service-account', while it is stopped), or run 'gcloud auth application-default login'",
      },
      'a zone that is forbidden': {
        arrange: () => cloud.project({ deniedLocations: [ZONE] }),
        says: "failed us-central1-a type: zone us-central1-a does not exist, or this project may not use it; see 'gcloud compute tpus locations list'",
      },
      'a policy against external addresses': {
        arrange: () => cloud.project({ policies: { 'compute.vmExternalIpAccess': { denyAll: true } } }),
        says: 'failed external addresses: the organization forbids external addresses (compute.vmExternalIpAccess); do without: tpu.external_ips: false in the job file, --no-external-ips here, and a worker inside the network',
      },
      'too few external addresses': {
        arrange: () => cloud.project({ regionQuotas: { 'us-central1': { IN_USE_ADDRESSES: { limit: 8, usage: 7 } } } }),
        says: `failed us-central1 addresses: IN_USE_ADDRESSES: 1 of 8 are free in us-central1, and 4 hosts need one each; ask for more at https://console.cloud.google.com/iam-admin/quotas?project=${PROJECT}&metric=compute.googleapis.com%2Fin_use_addresses, or do without: tpu.external_ips: false in the job file, --no-external-ips here, and a worker inside the network`,
      },
      'a quota of 0, which Google leaves out': {
        arrange: () =>
          cloud.project({ tpuQuotas: { 'tpu-v5s-litepod-preemptible': { per: 'zone', at: { [ZONE]: 0 } } } }),
        says: `failed us-central1-a quota: tpu-v5s-litepod-preemptible: 0 in us-central1-a, and 16 are wanted; ask for more at https://console.cloud.google.com/iam-admin/quotas?project=${PROJECT}&metric=tpu.googleapis.com%2Ftpu-v5s-litepod-preemptible, or take another zone or pricing`,
      },
      'OS Login by policy': {
        arrange: () => cloud.project({ policies: { 'compute.requireOsLogin': { enforce: true } } }),
        says: 'warning OS Login: the organization requires OS Login (compute.requireOsLogin): hosts ignore the SSH key that jobctl gives them; add the key of the worker to its OS Login profile: gcloud compute os-login ssh-keys add --key-file=KEY.pub',
      },
    };
    for (const [name, { arrange, says }] of Object.entries(refusals)) {
      it(`tells of ${name}`, async () => {
        await arrange();
        const { findings } = await look(onVm, '--zone', ZONE, '--accelerator', 'v5litepod-16');
        const told = findings.map(({ check, state, what, remedy }) => `${state} ${check}: ${what}; ${remedy}`);
        assert.ok(told.includes(says), told.join('\n'));
      });
    }

    it("names the project in a person's calls, and tells of one that may not be counted for", async () => {
      await cloud.become({ roles: ['roles/owner'], denied: ['serviceusage.services.use'] });
      const { code, findings } = await look(byLogin);
      const project = findings.find(({ check }) => check === 'project');
      assert.deepEqual(
        [code, `${project?.state}: ${project?.what}`],
        [1, 'failed: this login may not have its calls counted for project my-project (serviceusage.services.use)'],
        'every call is refused, so nothing can be ok',
      );
      // A service account's calls are counted for its own.
      assert.equal((await look(onVm)).findings.find(({ check }) => check === 'API tpu')?.state, 'ok');
    });

    for (const [login, says] of [
      ['expired', EXPIRED],
      ['reauthentication-needed', RUN_OUT],
    ] as const) {
      it(`stops at a login that is ${login}`, async () => {
        await cloud.become({ roles: ['roles/owner'], login });
        const { code, findings } = await look(byLogin);
        assert.equal(code, 1);
        assert.deepEqual(
          findings.map(({ what, remedy }) => `${what}: ${remedy}`),
          [says],
        );
      });
    }
  });

  describe('dev up --cloud gcp starts nothing', () => {
    const up = (command: Pick<Command, 'run'>, ...more: readonly string[]): Promise<Ran> =>
      command.run('dev', 'up', '--cloud', 'gcp', '--google-project', PROJECT, ...more);
    const FIRST =
      /^REAL Cloud TPU, billed to project my-project: a slice costs from its creation until it is deleted\n/;

    it('without a bucket, and offers one', async () => {
      const { code, stderr } = await up(onVm, '--zone', ZONE);
      assert.equal(code, 2);
      assert.match(stderr, FIRST);
      assert.match(
        stderr,
        /make one: gcloud storage buckets create gs:\/\/(jobctl-my-project-[0-9a-f]{6}) --project=my-project --location=us-central1 --uniform-bucket-level-access\n.*--bucket \1\n.*--create-bucket --zone us-central1-a\n$/,
      );
    });

    it('where the project cannot run jobs, and names every remedy at once', async () => {
      await cloud.become({ roles: ['roles/owner'], denied: ['tpu.nodes.create'] });
      await cloud.project({ disabledServices: ['compute.googleapis.com'] });
      const { code, stderr } = await up(onVm, '--bucket', 'no-such-bucket');
      assert.equal(code, 5);
      assert.match(stderr, FIRST);
      assert.match(stderr, /\nproject my-project cannot run jobs yet; nothing was started\n/);
      assert.match(
        stderr,
        /\n {2}API compute: the Compute Engine API \(compute\.googleapis\.com\) is not enabled .*\n {4}-> run 'gcloud services enable compute\.googleapis\.com --project=my-project'/,
      );
      assert.match(
        stderr,
        /\n {2}permissions: no tpu\.nodes\.create .*\n {4}-> an owner runs 'gcloud projects add-iam-policy-binding my-project /,
      );
    });

    it('with a bucket that is not there', async () => {
      const { code, stderr } = await up(onVm, '--bucket', 'no-such-bucket');
      assert.equal(code, 5);
      assert.match(
        stderr,
        /\n {2}bucket: gs:\/\/no-such-bucket does not exist\n {4}-> run 'gcloud storage buckets create gs:\/\/no-such-bucket /,
      );
    });

    it('with a login that has run out', async () => {
      await cloud.become({ roles: ['roles/owner'], login: 'reauthentication-needed' });
      const { code, stderr } = await up(byLogin, '--bucket', 'b');
      assert.equal(code, 5);
      assert.ok(stderr.includes(RUN_OUT.replace(': run ', '\n    -> run ')), stderr);
    });

    it('where flags of the real cloud are given without it', async () => {
      const { code, stderr } = await onVm.run('dev', 'up', '--bucket', 'b');
      assert.equal(code, 2);
      assert.match(stderr, /are for --cloud gcp/);
    });
  });

  describe('the adapters of worker and audit say the same', () => {
    let clients: AdapterProcess;
    const failsWith = (verb: string, ...either: readonly string[]): Promise<void> =>
      assert.rejects(clients.call(verb, 'x'), ({ message }: Error) => {
        assert.equal(message, either.find((wanted) => wanted === message) ?? either[0]);
        return true;
      });
    before(async () => {
      clients = new AdapterProcess(cloud, { GOOGLE_APPLICATION_CREDENTIALS: cloud.endpoints.credentialsFile ?? '' });
      await cloud.become({ roles: ['roles/owner'] });
      await clients.call('makeBucket');
    });
    after(() => clients.end());

    const observe = `GetNode projects/${GOOGLE_PROJECT}/locations/${ADAPTERS_ZONE}/nodes/none`;
    const auditOf = (kind: string): string =>
      `audit: GET ${cloud.endpoints.rest}/v2/projects/${GOOGLE_PROJECT}/locations/-/${kind}?pageSize=200`;

    it('of an API that is off', async () => {
      await cloud.project({ disabledServices: ['tpu.googleapis.com'] });
      const why =
        "the Cloud TPU API (tpu.googleapis.com) is not enabled in project 123456789012: run 'gcloud services enable tpu.googleapis.com --project=123456789012' and wait a few minutes";
      await failsWith('observe', `${observe}: ${why}`);
      // It asks for both at once; which answer comes first is not its choice.
      await failsWith('audit', `${auditOf('queuedResources')}: ${why}`, `${auditOf('nodes')}: ${why}`);
    });

    it('of a permission', async () => {
      await cloud.become({ roles: ['roles/owner'], denied: ['tpu.nodes.get', 'storage.objects.get'] });
      await failsWith(
        'observe',
        `${observe}: this login has no permission tpu.nodes.get on projects/${GOOGLE_PROJECT}/locations/${ADAPTERS_ZONE}/nodes/none, or that does not exist: an owner runs 'gcloud projects add-iam-policy-binding ${GOOGLE_PROJECT} --member=user:EMAIL --role=roles/tpu.admin'`,
      );
      await failsWith(
        'read',
        "store: read gs://clients/x: this login has no permission storage.objects.get on gs://clients, or that does not exist: an owner runs 'gcloud storage buckets add-iam-policy-binding gs://clients --member=user:EMAIL --role=roles/storage.objectAdmin'",
      );
    });

    it('of a project that is not there', async () => {
      await cloud.project({ known: ['other'] });
      await failsWith(
        'observe',
        `${observe}: project ${GOOGLE_PROJECT} does not exist, or this login has no right to see it: compare its id with 'gcloud projects list'; an id is not the name nor the number`,
      );
    });

    it('of a login that is not accepted, or has run out; and who logs in again is let in without a new start', async () => {
      const login = readFileSync(cloud.endpoints.credentialsFile ?? '', 'utf8');
      const file = join(home, 'login.json');
      writeFileSync(file, login.replace('-current', '-nobody@example.com'));
      const fresh = new AdapterProcess(cloud, { GOOGLE_APPLICATION_CREDENTIALS: file });
      const refusedWith = async (why: string): Promise<void> => {
        await assert.rejects(fresh.call('observe'), { name: 'CloudRefused', message: `${observe}: ${why}` });
        const message = `store: read gs://clients/x: ${why}`;
        await assert.rejects(fresh.call('read', 'x'), { name: 'StoreRefused', message });
      };
      try {
        await refusedWith(EXPIRED);
        // As `gcloud auth application-default login` does: the file is another one.
        await cloud.become({ roles: ['roles/owner'], login: 'reauthentication-needed' });
        writeFileSync(file, login);
        await refusedWith(RUN_OUT);
        await cloud.become({ roles: ['roles/owner'] });
        assert.deepEqual(await fresh.call('observe'), { kind: 'missing' });
        assert.equal(await fresh.call('read', 'x'), undefined);
      } finally {
        await fresh.end();
      }
    });
  });

  async function look(
    command: Pick<Command, 'run'>,
    ...args: readonly string[]
  ): Promise<{ code: number; findings: readonly Finding[] }> {
    const { code, stdout, stderr } = await command.run(...GCP, ...args, '--output', 'json');
    assert.equal(stderr, '');
    return { code, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings };
  }
});

const wrong = (findings: readonly Finding[]): readonly string[] =>
  findings.filter(({ state }) => state !== 'ok').map(({ check, state, what }) => `${state} ${check}: ${what}`);
