import assert from 'node:assert/strict';
import { AuthenticatedCloud } from './authenticated-cloud.js';
import type { TpuClient } from './cloud-under-test.js';
import { PARENT } from './cloud-under-test.js';

const ADVICE =
  'Expected OAuth 2 access token, login cookie or other valid authentication credential. ' +
  'See https://developers.google.com/identity/sign-in/web/devconsole-project.';
const INVALID = `Request had invalid authentication credentials. ${ADVICE}`;
const NODE = `${PARENT}/nodes/a`;

interface Refusal {
  readonly code: number;
  readonly text: string;
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

/** What Google's client says of a call that was refused, its ErrorInfo with it. */
async function refusal(call: Promise<unknown>): Promise<Refusal> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown as Record<string, unknown>,
  );
  if (error === undefined) throw new Error('the call succeeded, a refusal was expected');
  const { code, details, reason, errorInfoMetadata } = error;
  return { code, text: details, reason, metadata: errorInfoMetadata } as Refusal;
}

describe('a rehearsal with authentication', () => {
  const cloud = new AuthenticatedCloud();
  const open: TpuClient[] = [];
  const client = (token?: string): TpuClient => {
    open.push(cloud.client(token));
    return open.at(-1) as TpuClient;
  };
  const getNode = (token?: string): Promise<unknown> => client(token).getNode({ name: NODE });

  before(() => cloud.start());
  after(() => cloud.stop());
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await cloud.project({});
  });

  describe('refuses in Google’s words', () => {
    it('a call without a token', async () => {
      const { code, text, reason } = await refusal(getNode());
      assert.deepEqual([code, reason], [16, 'CREDENTIALS_MISSING']);
      assert.equal(text, `Request is missing required authentication credential. ${ADVICE}`);
    });

    it('a token that nobody gave', async () => {
      const { code, text, reason } = await refusal(getNode('ya29.somebody-else'));
      assert.deepEqual([code, text, reason], [16, INVALID, 'ACCESS_TOKEN_TYPE_UNSUPPORTED']);
    });

    it('a token whose content was changed', async () => {
      const [head, name, body, signature] = (await cloud.become()).split('.');
      const content = JSON.parse(Buffer.from(body ?? '', 'base64url').toString()) as object;
      const forged = Buffer.from(JSON.stringify({ ...content, email: 'owner@rehearsal.example.com' }));
      const token = [head, name, forged.toString('base64url'), signature].join('.');
      assert.equal((await refusal(getNode(token))).reason, 'ACCESS_TOKEN_TYPE_UNSUPPORTED');
    });

    it('a token that has run out', async () => {
      const { code, text, reason, metadata } = await refusal(getNode(await cloud.become({ tokenValidSeconds: 0 })));
      assert.deepEqual([code, text, reason], [16, INVALID, 'ACCESS_TOKEN_EXPIRED']);
      assert.deepEqual(metadata, { service: 'tpu.googleapis.com', method: 'google.cloud.tpu.v2.Tpu.GetNode' });
    });

    it('a token that was revoked, not one that came after', async () => {
      const token = await cloud.become({ roles: ['roles/tpu.viewer'] });
      await cloud.admin('access', { revokeTokens: true });
      assert.equal((await refusal(getNode(token))).text, INVALID);
      assert.equal((await refusal(getNode(await cloud.token()))).code, 5);
    });

    it('a token whose scopes leave Cloud TPU out, as those of a new VM do', async () => {
      const token = await cloud.become({ roles: ['roles/owner'], scopes: ['devstorage.read_only', 'logging.write'] });
      const { code, text, reason } = await refusal(getNode(token));
      assert.deepEqual([code, reason], [7, 'ACCESS_TOKEN_SCOPE_INSUFFICIENT']);
      assert.equal(text, 'Request had insufficient authentication scopes.');
    });

    it('a project that is not there, with 403', async () => {
      await cloud.project({ known: ['other'] });
      const { code, text, reason } = await refusal(getNode(await cloud.become({ roles: ['roles/owner'] })));
      assert.deepEqual([code, text, reason], [7, 'Permission denied on resource project p.', 'CONSUMER_INVALID']);
    });

    it('a service that is not enabled', async () => {
      await cloud.project({ disabledServices: ['tpu.googleapis.com'], number: '4711' });
      const { code, text, reason, metadata } = await refusal(getNode(await cloud.become({ roles: ['roles/owner'] })));
      assert.deepEqual([code, reason], [7, 'SERVICE_DISABLED']);
      assert.ok(
        text.startsWith(
          'Cloud TPU API has not been used in project 4711 before or it is disabled. Enable it by visiting ' +
            'https://console.developers.google.com/apis/api/tpu.googleapis.com/overview?project=4711 then retry.',
        ),
        text,
      );
      assert.deepEqual(metadata, { consumer: 'projects/4711', service: 'tpu.googleapis.com' });
    });

    it('a zone that a policy forbids', async () => {
      await cloud.project({ deniedLocations: ['us-central1-a'] });
      const { code, text, reason } = await refusal(getNode(await cloud.become({ roles: ['roles/owner'] })));
      assert.deepEqual([code, reason], [7, 'LOCATION_POLICY_VIOLATED']);
      assert.equal(text, "Permission denied on 'locations/us-central1-a' (or it may not exist).");
    });

    it('a call that is to be counted for a project that the caller may not use', async () => {
      const url = `${cloud.endpoints.rest}/v2/${NODE}`;
      const headers = { 'x-goog-user-project': 'billed' };
      const refused = await cloud.ask(url, { headers, token: await cloud.become({ permissions: ['tpu.*'] }) });
      assert.match(
        refused.text,
        /Caller does not have required permission to use project billed\. .*USER_PROJECT_DENIED/,
      );
      const permissions = ['tpu.*', 'serviceusage.services.use'];
      assert.equal((await cloud.ask(url, { headers, token: await cloud.become({ permissions }) })).status, 404);
    });

    it('a service account that the caller may not act as', async () => {
      const token = await cloud.become({ roles: ['roles/tpu.admin'] });
      const node = {
        runtimeVersion: 'v2-alpha-tpuv5-lite',
        acceleratorType: 'v5litepod-8',
        serviceAccount: { email: 'sa@p.iam' },
      };
      const { code, text, metadata } = await refusal(client(token).createNode({ parent: PARENT, nodeId: 'a', node }));
      assert.equal(code, 7);
      assert.ok(text.startsWith("The user does not have access to service account 'sa@p.iam'."), text);
      assert.equal(metadata?.['permission'], 'iam.serviceAccounts.actAs');
    });
  });

  const queued = `${PARENT}/queuedResources/a`;
  const methods: Record<string, { call: (c: TpuClient) => Promise<unknown>; permission: string; resource: string }> = {
    ListNodes: { call: (c) => c.listNodes({ parent: PARENT }), permission: 'tpu.nodes.list', resource: PARENT },
    GetNode: { call: (c) => c.getNode({ name: NODE }), permission: 'tpu.nodes.get', resource: NODE },
    CreateNode: {
      call: (c) => c.createNode({ parent: PARENT, nodeId: 'a', node: {} }),
      permission: 'tpu.nodes.create',
      resource: NODE,
    },
    DeleteNode: { call: (c) => c.deleteNode({ name: NODE }), permission: 'tpu.nodes.delete', resource: NODE },
    ListQueuedResources: {
      call: (c) => c.listQueuedResources({ parent: PARENT }),
      permission: 'tpu.nodes.list',
      resource: PARENT,
    },
    GetQueuedResource: {
      call: (c) => c.getQueuedResource({ name: queued }),
      permission: 'tpu.nodes.get',
      resource: queued,
    },
    CreateQueuedResource: {
      call: (c) => c.createQueuedResource({ parent: PARENT, queuedResourceId: 'a', queuedResource: {} }),
      permission: 'tpu.nodes.create',
      resource: queued,
    },
    DeleteQueuedResource: {
      call: (c) => c.deleteQueuedResource({ name: queued }),
      permission: 'tpu.nodes.delete',
      resource: queued,
    },
    GetOperation: {
      call: (c) => c.getOperation({ name: `${PARENT}/operations/o` } as never),
      permission: 'tpu.operations.get',
      resource: `${PARENT}/operations/o`,
    },
    ListAcceleratorTypes: {
      call: (c) => c.listAcceleratorTypes({ parent: PARENT }),
      permission: 'tpu.acceleratortypes.list',
      resource: PARENT,
    },
    ListRuntimeVersions: {
      call: (c) => c.listRuntimeVersions({ parent: PARENT }),
      permission: 'tpu.runtimeversions.list',
      resource: PARENT,
    },
    GetGuestAttributes: {
      call: (c) => c.getGuestAttributes({ name: NODE }),
      permission: 'tpu.nodes.get',
      resource: NODE,
    },
    StopNode: { call: (c) => c.stopNode({ name: NODE }), permission: 'tpu.nodes.stop', resource: NODE },
    StartNode: { call: (c) => c.startNode({ name: NODE }), permission: 'tpu.nodes.start', resource: NODE },
    UpdateNode: {
      call: (c) => c.updateNode({ node: { name: NODE }, updateMask: { paths: ['labels'] } }),
      permission: 'tpu.nodes.update',
      resource: NODE,
    },
    ResetQueuedResource: {
      call: (c) => c.resetQueuedResource({ name: queued }),
      permission: 'tpu.nodes.reset',
      resource: queued,
    },
    GetRuntimeVersion: {
      call: (c) => c.getRuntimeVersion({ name: `${PARENT}/runtimeVersions/none` }),
      permission: 'tpu.runtimeversions.get',
      resource: `${PARENT}/runtimeVersions/none`,
    },
  };
  for (const [method, { call, permission, resource }] of Object.entries(methods)) {
    it(`${method} needs ${permission}, and that alone`, async () => {
      const { code, text, reason, metadata } = await refusal(
        call(client(await cloud.become({ roles: ['roles/owner'], denied: [permission] }))),
      );
      assert.deepEqual([code, reason], [7, 'IAM_PERMISSION_DENIED']);
      assert.equal(text, `Permission '${permission}' denied on '${resource}' (or it may not exist).`);
      assert.deepEqual(metadata, { permission, resource });
      const allowed = client(await cloud.become({ permissions: [permission] }));
      const answered = await call(allowed).then(
        () => 0,
        (error: unknown) => (error as { readonly code: number }).code,
      );
      // What is not there is NOT_FOUND, what is empty is INVALID_ARGUMENT.
      assert.ok([0, 3, 5].includes(answered), `code ${answered}`);
    });
  }

  it('refuses over REST as over gRPC, with the reason in the details', async () => {
    const url = `${cloud.endpoints.rest}/v2/${NODE}`;
    const { status, json } = await cloud.ask(url, { token: await cloud.become() });
    const message = `Permission 'tpu.nodes.get' denied on '${NODE}' (or it may not exist).`;
    const info = {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'IAM_PERMISSION_DENIED',
      domain: 'tpu.googleapis.com',
      metadata: { permission: 'tpu.nodes.get', resource: NODE },
    };
    assert.equal(status, 403);
    assert.deepEqual(json, { error: { code: 403, message, status: 'PERMISSION_DENIED', details: [info] } });
    assert.equal((await cloud.ask(url)).status, 401);
  });

  it('journals a refused call as refused', async () => {
    await refusal(getNode(await cloud.become()));
    const last = (await cloud.journal('api-call')).at(-1);
    assert.deepEqual([last?.details['method'], last?.details['code']], ['GetNode', 'PERMISSION_DENIED']);
  });

  it('asks nobody any more once it is switched off, and asks again once it is on', async () => {
    await cloud.admin('access', { enforced: false });
    assert.equal((await refusal(getNode())).code, 5);
    await cloud.admin('access', { enforced: true });
    assert.equal((await refusal(getNode())).code, 16);
  });

  it('says what is wrong with a principal, and changes nothing', async () => {
    await cloud.become({ roles: ['roles/tpu.viewer'] });
    const wrong = { principals: [{ email: 'alice@example.com', roles: ['roles/tpu.boss'] }] };
    await assert.rejects(cloud.admin('access', wrong), /HTTP 400.*principals\.0\.roles\.0/);
    await assert.rejects(cloud.admin('access', { current: 'bob@example.com' }), /'bob@example.com' is none of/);
    assert.equal((await refusal(getNode(await cloud.token()))).code, 5);
  });

  it('goes on after a restart with its authority, its principals and the tokens that are out', async () => {
    const token = await cloud.become({ roles: ['roles/tpu.viewer'] });
    const { ca } = cloud;
    await cloud.halt();
    await cloud.start();
    assert.equal(cloud.ca, ca);
    assert.equal((await refusal(getNode(token))).code, 5);
  });
});
