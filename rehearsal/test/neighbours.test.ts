import assert from 'node:assert/strict';
import { AuthenticatedCloud } from './authenticated-cloud.js';
import type { HttpAnswer } from './authenticated-cloud.js';

const NUMBER = '123456789012';

/** A fact of the project as an API tells it: `path` of the REST server, and what is in the answer. */
interface Told {
  readonly project?: Parameters<AuthenticatedCloud['project']>[0];
  readonly path: string;
  readonly status?: number;
  readonly pick: (json: never) => unknown;
  readonly want: unknown;
}

const message = ({ error }: { readonly error: { readonly message: string } }): string => error.message;

const tellings: Record<string, Told> = {
  'Resource Manager: the project': {
    path: 'v3/projects/p',
    pick: ({ name, projectId, state }: Record<string, string>) => [name, projectId, state],
    want: [`projects/${NUMBER}`, 'p', 'ACTIVE'],
  },
  'Resource Manager: a project that is not there, as one that may not be seen': {
    project: { known: ['other'] },
    path: 'v3/projects/p',
    status: 403,
    pick: message,
    want: "Permission 'resourcemanager.projects.get' denied on resource '//cloudresourcemanager.googleapis.com/projects/p' (or it may not exist).",
  },
  'IAM: a service account that is not there': {
    project: { serviceAccounts: ['a@p.iam.gserviceaccount.com'] },
    path: 'v1/projects/-/serviceAccounts/b@p.iam.gserviceaccount.com',
    status: 404,
    pick: message,
    want: 'Unknown service account',
  },
  'Service Usage: a service that is enabled': {
    path: 'v1/projects/p/services/tpu.googleapis.com',
    pick: ({ name, state }: Record<string, string>) => [name, state],
    want: [`projects/${NUMBER}/services/tpu.googleapis.com`, 'ENABLED'],
  },
  'Service Usage: a service that is not': {
    project: { disabledServices: ['tpu.googleapis.com'] },
    path: 'v1/projects/p/services/tpu.googleapis.com',
    pick: ({ state }: Record<string, string>) => state,
    want: 'DISABLED',
  },
  'Compute Engine: a network': {
    path: 'compute/v1/projects/p/global/networks/default',
    pick: ({ name, autoCreateSubnetworks }: Record<string, unknown>) => [name, autoCreateSubnetworks],
    want: ['default', true],
  },
  'Compute Engine: a network that is not there': {
    path: 'compute/v1/projects/p/global/networks/wide',
    status: 404,
    pick: ({ error }: { error: { message: string; errors: { reason: string }[] } }) => [
      error.message,
      error.errors[0]?.reason,
    ],
    want: ["The resource 'projects/p/global/networks/wide' was not found", 'notFound'],
  },
  'Compute Engine: the subnetwork that an auto mode network has in every region': {
    path: 'compute/v1/projects/p/regions/us-east5/subnetworks/default',
    pick: ({ privateIpGoogleAccess, network }: Record<string, unknown>) => [privateIpGoogleAccess, network],
    want: [false, 'https://www.googleapis.com/compute/v1/projects/p/global/networks/default'],
  },
  'Compute Engine: a subnetwork of one region': {
    project: {
      subnetworks: { 'us-east5/tpus': { network: 'default', ipCidrRange: '10.9.0.0/24', privateIpGoogleAccess: true } },
    },
    path: 'compute/v1/projects/p/regions/us-east5/subnetworks/tpus',
    pick: ({ privateIpGoogleAccess, ipCidrRange }: Record<string, unknown>) => [privateIpGoogleAccess, ipCidrRange],
    want: [true, '10.9.0.0/24'],
  },
  'Compute Engine: firewall rules, those that were taken away left out': {
    project: { firewalls: { 'default-allow-icmp': null, 'default-allow-internal': null } },
    path: 'compute/v1/projects/p/global/firewalls',
    pick: ({ items }: { items: Record<string, unknown>[] }) => items.map(({ name, allowed }) => [name, allowed]),
    want: [['default-allow-ssh', [{ IPProtocol: 'tcp', ports: ['22'] }]]],
  },
  'Compute Engine: the quotas of a region': {
    project: { regionQuotas: { 'us-east5': { IN_USE_ADDRESSES: { limit: 8, usage: 3 } } } },
    path: 'compute/v1/projects/p/regions/us-east5',
    pick: ({ quotas }: { quotas: { metric: string }[] }) => quotas.find(({ metric }) => metric === 'IN_USE_ADDRESSES'),
    want: { metric: 'IN_USE_ADDRESSES', limit: 8, usage: 3 },
  },
  'Compute Engine: metadata of the whole project': {
    project: { metadata: { 'enable-oslogin': 'TRUE' } },
    path: 'compute/v1/projects/p',
    pick: ({ commonInstanceMetadata: { items } }: { commonInstanceMetadata: { items: unknown } }) => items,
    want: [{ key: 'enable-oslogin', value: 'TRUE' }],
  },
  'Organization Policy: a rule that nobody set': {
    path: 'v2/projects/p/policies/compute.requireOsLogin:getEffectivePolicy',
    pick: ({ spec }: { spec: unknown }) => spec,
    want: { rules: [{ enforce: false }] },
  },
  'Organization Policy: a rule that is set': {
    project: { policies: { 'compute.vmExternalIpAccess': { denyAll: true } } },
    path: 'v2/projects/p/policies/compute.vmExternalIpAccess:getEffectivePolicy',
    pick: ({ spec }: { spec: unknown }) => spec,
    want: { rules: [{ denyAll: true }] },
  },
  'Cloud TPU: the types that a zone offers': {
    project: { zones: { 'us-east5-a': { acceleratorTypes: ['v6e-8'] } } },
    path: 'v2/projects/p/locations/us-east5-a/acceleratorTypes',
    pick: ({ acceleratorTypes }: { acceleratorTypes: { type: string }[] }) => acceleratorTypes.map(({ type }) => type),
    want: ['v6e-8'],
  },
  'Cloud TPU: the runtimes that a zone offers': {
    project: { zones: { 'us-east5-a': { runtimeVersions: ['v2-alpha-tpuv6e'] } } },
    path: 'v2/projects/p/locations/us-east5-a/runtimeVersions',
    pick: ({ runtimeVersions }: { runtimeVersions: { version: string }[] }) =>
      runtimeVersions.map((each) => each.version),
    want: ['v2-alpha-tpuv6e'],
  },
  'Cloud TPU: its locations': {
    path: 'v2/projects/p/locations?pageSize=2',
    pick: ({ locations }: { locations: { locationId: string }[] }) => locations.map(({ locationId }) => locationId),
    want: ['europe-west4-a', 'europe-west4-b'],
  },
  'what nobody serves, as not served': {
    path: 'v3/folders/1',
    status: 501,
    pick: message,
    want: 'GET /v3/folders/1 is not served by the rehearsal cloud',
  },
};

for (const authentication of [true, false]) {
  describe(`the neighbours of Cloud TPU ${authentication ? 'tell who may know' : 'tell everybody, without authentication'}`, () => {
    const cloud = new AuthenticatedCloud();
    let token: string | undefined;
    const ask = (path: string, body?: object): Promise<HttpAnswer> =>
      cloud.ask(`${cloud.endpoints.rest}/${path}`, {
        ...(token !== undefined && { token }),
        ...(body && { method: 'POST', body }),
      });

    before(async () => {
      await cloud.start(authentication ? { authentication: {} } : {});
      if (authentication) token = await cloud.become({ roles: ['roles/owner'] });
    });
    after(() => cloud.stop());

    for (const [name, { project = {}, path, status = 200, pick, want }] of Object.entries(tellings)) {
      it(name, async () => {
        await cloud.project(project);
        const answer = await ask(path);
        assert.equal(answer.status, status, answer.text);
        assert.deepEqual(pick(answer.json as never), want);
      });
    }

    it('Resource Manager: the IAM policy of the project', async () => {
      const roleBindings = [{ role: 'roles/editor', members: ['serviceAccount:a@p.iam.gserviceaccount.com'] }];
      await cloud.project({ roleBindings });
      const { json } = await ask('v3/projects/p:getIamPolicy', { options: { requestedPolicyVersion: 3 } });
      assert.deepEqual((json as { bindings: unknown }).bindings, roleBindings);
    });

    it('Resource Manager: of some permissions, those that the caller holds', async () => {
      await cloud.project({});
      const permissions = ['tpu.nodes.create', 'tpu.nodes.get', 'iam.serviceAccounts.actAs'];
      const wants = authentication ? ['tpu.nodes.get'] : permissions;
      const owner = token;
      if (authentication) token = await cloud.become({ roles: ['roles/tpu.viewer'] });
      assert.deepEqual((await ask('v3/projects/p:testIamPermissions', { permissions })).json, { permissions: wants });
      const wild = await ask('v3/projects/p:testIamPermissions', { permissions: ['tpu.*'] });
      assert.equal(wild.status, 400);
      token = owner;
    });
  });
}

describe('the neighbours of Cloud TPU with authentication', () => {
  const cloud = new AuthenticatedCloud();
  before(() => cloud.start());
  after(() => cloud.stop());

  const needs: Record<string, { permission: string; path: string; text: string }> = {
    'Resource Manager': {
      permission: 'resourcemanager.projects.get',
      path: 'v3/projects/p',
      text: "Permission 'resourcemanager.projects.get' denied on resource '//cloudresourcemanager.googleapis.com/projects/p' (or it may not exist).",
    },
    'Service Usage': {
      permission: 'serviceusage.services.get',
      path: 'v1/projects/p/services/tpu.googleapis.com',
      text: 'Permission denied to get service [tpu.googleapis.com]',
    },
    'Service Usage’s quotas': {
      permission: 'serviceusage.quotas.get',
      path: 'v1beta1/projects/p/services/tpu.googleapis.com/consumerQuotaMetrics',
      text: "Permission 'serviceusage.quotas.get' denied on resource '//serviceusage.googleapis.com/projects/p/services/tpu.googleapis.com' (or it may not exist).",
    },
    'Compute Engine': {
      permission: 'compute.networks.get',
      path: 'compute/v1/projects/p/global/networks/default',
      text: "Required 'compute.networks.get' permission for 'projects/p/global/networks/default'",
    },
    'Organization Policy': {
      permission: 'orgpolicy.policy.get',
      path: 'v2/projects/p/policies/compute.requireOsLogin:getEffectivePolicy',
      text: "Permission 'orgpolicy.policy.get' denied on resource '//orgpolicy.googleapis.com/projects/p/policies/compute.requireOsLogin' (or it may not exist).",
    },
  };
  for (const [api, { permission, path, text }] of Object.entries(needs)) {
    it(`${api} wants ${permission}, and no other`, async () => {
      const url = `${cloud.endpoints.rest}/${path}`;
      const refused = await cloud.ask(url, {
        token: await cloud.become({ roles: ['roles/owner'], denied: [permission] }),
      });
      assert.deepEqual([refused.status, message(refused.json as never)], [403, text]);
      assert.equal((await cloud.ask(url, { token: await cloud.become({ permissions: [permission] }) })).status, 200);
      assert.equal((await cloud.ask(url)).status, 401);
    });
  }

  it('an API that is not enabled says so, with its title, its reason and Compute Engine’s older one', async () => {
    await cloud.project({ disabledServices: ['compute.googleapis.com'] });
    const token = await cloud.become({ roles: ['roles/owner'] });
    const { status, json } = await cloud.ask(`${cloud.endpoints.rest}/compute/v1/projects/p/global/firewalls`, {
      token,
    });
    const { error } = json as {
      error: { message: string; errors: { reason: string }[]; details: { reason: string }[] };
    };
    assert.equal(status, 403);
    assert.match(
      error.message,
      /^Compute Engine API has not been used in project 123456789012 before or it is disabled/,
    );
    assert.deepEqual([error.errors[0]?.reason, error.details[0]?.reason], ['accessNotConfigured', 'SERVICE_DISABLED']);
    await cloud.project({});
  });

  describe('TPU quotas', () => {
    interface Metric {
      readonly metric: string;
      readonly consumerQuotaLimits: readonly { readonly unit: string; readonly quotaBuckets: readonly unknown[] }[];
    }
    const read = async (query = ''): Promise<{ metrics: readonly Metric[]; nextPageToken?: string }> => {
      const path = 'v1beta1/projects/p/services/tpu.googleapis.com/consumerQuotaMetrics';
      const token = await cloud.become({ roles: ['roles/owner'] });
      const { json } = await cloud.ask(`${cloud.endpoints.rest}/${path}?${query}`, { token });
      return json as { metrics: readonly Metric[] };
    };
    const v6e = async (query?: string): Promise<Metric['consumerQuotaLimits'][number] | undefined> =>
      (await read(query)).metrics.find(({ metric }) => metric.endsWith('/tpu-v6e'))?.consumerQuotaLimits[0];

    it('show where a limit is another; no limit at all is left out, as 0', async () => {
      await cloud.project({ tpuQuotas: { 'tpu-v6e': { limit: 64, at: { 'us-east5-a': 0, 'us-east5-b': -1 } } } });
      const limit = await v6e();
      assert.equal(limit?.unit, '1/{project}/{zone}');
      assert.deepEqual(limit.quotaBuckets, [
        { effectiveLimit: '64', defaultLimit: '64' },
        { defaultLimit: '64', dimensions: { zone: 'us-east5-a' } },
        { effectiveLimit: '-1', defaultLimit: '64', dimensions: { zone: 'us-east5-b' } },
      ]);
    });

    it('show every place in the full view', async () => {
      await cloud.project({});
      assert.equal((await v6e())?.quotaBuckets.length, 1);
      assert.equal((await v6e('view=FULL'))?.quotaBuckets.length, 9);
    });

    it('come in pages', async () => {
      const all = (await read()).metrics.map(({ metric }) => metric);
      const paged: string[] = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined;) {
        const page = await read(`pageSize=3${pageToken && `&pageToken=${pageToken}`}`);
        assert.ok(page.metrics.length <= 3);
        paged.push(...page.metrics.map(({ metric }) => metric));
        pageToken = page.nextPageToken;
      }
      assert.deepEqual(paged, all);
      assert.ok(all.length > 3);
    });
  });

  it('facts that are wrong are named and change nothing; facts outlive a restart', async () => {
    await cloud.project({ number: '4711' });
    await assert.rejects(cloud.admin('project', { netwroks: {} }), /HTTP 400.*netwroks/);
    await assert.rejects(
      cloud.admin('project', { tpuQuotas: { 'tpu-v6e': { limit: -2 } } }),
      /tpuQuotas\.tpu-v6e\.limit/,
    );
    await cloud.halt();
    await cloud.start();
    const facts = await cloud.ask(`${cloud.endpoints.admin}/admin/project`);
    assert.equal((facts.json as { readonly number: string }).number, '4711');
  });
});
