import assert from 'node:assert/strict';
import * as grpc from '@grpc/grpc-js';
import fc from 'fast-check';
import { protoRoot } from '../tpu/protos.js';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();
const SEED = 20_261_121;

/** Paths that there are, and some that there are not; `x` exists, until a call deletes it. */
const PATHS: readonly string[] = [
  `${PARENT}/nodes`,
  `${PARENT}/nodes?nodeId=y`,
  `${PARENT}/nodes/x`,
  `${PARENT}/nodes/x?updateMask=labels,network_config.enable_external_ips`,
  `${PARENT}/nodes/x:stop`,
  `${PARENT}/nodes/x:getGuestAttributes`,
  `${PARENT}/nodes/x:simulateMaintenanceEvent`,
  `${PARENT}/queuedResources?queuedResourceId=y`,
  `${PARENT}/queuedResources/y?force=True`,
  `${PARENT}/queuedResources/y:reset`,
  `${PARENT}/queuedResources/y:performMaintenanceQueuedResource`,
  `${PARENT}/operations`,
  `${PARENT}/operations/none:cancel`,
  `${PARENT}/acceleratorTypes?filter=type%3Dv4-8&pageSize=-1`,
  `${PARENT}/reservations?pageToken=%00`,
  `projects/p/locations/-/nodes?fields=nodes(name`,
  `projects/p/locations/%E0%A4%A/nodes`,
  `projects//locations//nodes/`,
  `projects/p/locations`,
];

/** JSON of the messages' own names with values of any kind: most of what may be sent wrongly. */
const names = [
  'name',
  'node',
  'nodeSpec',
  'tpu',
  'acceleratorType',
  'runtime_version',
  'acceleratorConfig',
  'type',
  'topology',
  'labels',
  'metadata',
  'networkConfig',
  'schedulingConfig',
  'spot',
  'queueingPolicy',
  'validUntilTime',
  'multisliceParams',
  'nodeCount',
  'nodeId',
  'parent',
  'workerIds',
  'tags',
  'dataDisks',
  '__proto__',
  'constructor',
];
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(
      'v5litepod-8',
      'v2-alpha-tpuv5-lite',
      PARENT,
      '',
      'x',
      '2x2',
      'READY',
      null,
      true,
      7,
      -1,
      1e30,
      '2026-01-01T00:00:00Z',
    ),
    fc.string(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 5 }),
  ),
})).value;
const bodies = fc.oneof(
  values.map((value) => JSON.stringify(value)),
  fc.string(),
  fc.constantFrom('{', '[[[', 'null', '"', '{"a":1}}'),
);
const types = fc.constantFrom(
  'application/json',
  'text/plain',
  'application/x-www-form-urlencoded',
  'application/json; charset=utf-8',
);

describe('malformed calls', function () {
  this.timeout(60_000);

  before(async () => {
    await cloud.start();
    for (const nodeId of ['x', 'kept']) {
      await cloud.client.createNode({ parent: PARENT, nodeId, node: cloud.nodeBody() });
    }
  });
  after(() => cloud.stop());

  it('are refused over REST as Google’s front end refuses, and never break the service', async () => {
    const seen = new Map<number, number>();
    const verbs = fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT');
    const versions = fc.constantFrom('v1', 'v2', 'v2alpha1');
    const calls = fc.tuple(versions, verbs, fc.constantFrom(...PATHS), bodies, types);
    await fc.assert(
      fc.asyncProperty(calls, async ([version, verb, path, body, type]) => {
        const content = verb === 'GET' ? {} : { body, headers: { 'content-type': type } };
        const answer = await fetch(`${cloud.endpoints.rest}/${version}/${path}`, { method: verb, ...content });
        const text = await answer.text();
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        assert.ok(answer.status < 500, `${verb} ${path} ${body}: ${answer.status} ${text}`);
        const json = JSON.parse(text) as { readonly error?: { readonly code: number; readonly status: string } };
        assert.equal(json.error?.code ?? answer.status, answer.status);
      }),
      { numRuns: 600, seed: SEED },
    );
    // Each kind of answer was met, or the calls prove little.
    for (const status of [200, 400, 404]) assert.ok((seen.get(status) ?? 0) >= 20, `${status}: ${seen.get(status)}`);
    assert.equal((await cloud.node('kept'))?.name, `${PARENT}/nodes/kept`);
  });

  it('are refused over gRPC, and never break the service', async () => {
    const client = new grpc.Client(cloud.endpoints.tpu, grpc.credentials.createInsecure());
    const codes = new Map<number, number>();
    const methods = ['v2', 'v2alpha1'].flatMap((version) => {
      const service = `google.cloud.tpu.${version}.Tpu`;
      return protoRoot()
        .lookupService(service)
        .methodsArray.map(({ name }) => `/${service}/${name}`);
    });
    // No wait: without a deadline it lasts a minute.
    const paths = fc.constantFrom(
      ...methods,
      '/google.longrunning.Operations/GetOperation',
      '/google.cloud.location.Locations/GetLocation',
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(PARENT, `${PARENT}/nodes/x`).map(nameField),
    );
    await fc.assert(
      fc.asyncProperty(paths, bytes, async (path, body) => {
        const code = await called(client, path, body);
        codes.set(code, (codes.get(code) ?? 0) + 1);
        // 13 is what grpc-js answers to bytes that are no message, as gRPC servers do.
        assert.ok(code !== 2 && code !== 14, `${path}: ${code}`);
      }),
      { numRuns: 400, seed: SEED },
    );
    client.close();
    for (const code of [0, 3, 5, 13]) assert.ok((codes.get(code) ?? 0) >= 1, JSON.stringify([...codes]));
    assert.equal((await cloud.node('kept'))?.name, `${PARENT}/nodes/kept`);
  });
});

/** Field 1 of nearly every request: a name or a parent. */
function nameField(name: string): Uint8Array {
  return Buffer.concat([Buffer.from([0x0a, name.length]), Buffer.from(name)]);
}

function called(client: grpc.Client, path: string, body: Uint8Array): Promise<number> {
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + 10_000 };
    client.makeUnaryRequest(path, same, same, Buffer.from(body), new grpc.Metadata(), options, (error) =>
      resolve(error?.code ?? 0),
    );
  });
}
