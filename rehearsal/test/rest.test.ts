import assert from 'node:assert/strict';
import { CloudUnderTest, PARENT } from './cloud-under-test.js';

const cloud = new CloudUnderTest();

interface Asked {
  readonly verb?: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

interface Answered {
  readonly status: number;
  readonly json: Record<string, unknown>;
}

async function ask({ verb = 'GET', path, body, type = 'application/json' }: Asked): Promise<Answered> {
  const content = body === undefined ? {} : { body, headers: { 'content-type': type } };
  const response = await fetch(`${cloud.endpoints.rest}${path}`, { method: verb, ...content });
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

const NODES = `/v2/${PARENT}/nodes`;
const NODE = '"acceleratorType":"v5litepod-8","runtimeVersion":"v2-alpha-tpuv5-lite"';
const unknownName = (name: string): string =>
  `Invalid JSON payload received. Unknown name "${name}": Cannot bind query parameter. Field '${name}' could not be found in request message.`;

const refusals: Readonly<
  Record<
    string,
    Asked & { readonly http: number; readonly message: string; readonly fields?: readonly (string | undefined)[] }
  >
> = {
  'JSON that ends too early': {
    verb: 'POST',
    path: `${NODES}?nodeId=x`,
    body: '{"description": ',
    http: 400,
    message:
      'Invalid JSON payload received. Unexpected end of string. Expected a value.\n{"description": \n                ^',
    fields: [undefined],
  },
  'JSON with a word in it': {
    verb: 'POST',
    path: `${NODES}?nodeId=x`,
    body: '{"description": "a", runtime: 1}',
    http: 400,
    message: 'Invalid JSON payload received. Unexpected token.\n"description": "a", runtime: 1}\n                    ^',
    fields: [undefined],
  },
  'a list in place of a message': {
    verb: 'POST',
    path: `${NODES}?nodeId=x`,
    body: '[]',
    http: 400,
    message: 'Invalid JSON payload received. Root element must be a message.',
    fields: [undefined],
  },
  'values of other types, each by its name': {
    verb: 'POST',
    path: `${NODES}?nodeId=x`,
    body: `{"description":5,"labels":{"team":7},"runtimeVersion":["a"],"networkConfig":"n","schedulingConfig":{"spot":"yes"}}`,
    http: 400,
    message: [
      "Invalid value at 'node.description' (TYPE_STRING), 5",
      "Invalid value at 'node.labels[0].value' (TYPE_STRING), 7",
      'Invalid JSON payload received. Unknown name "runtimeVersion" at \'node\': Proto field is not repeating, cannot start list.',
      'Invalid value at \'node.network_config\' (type.googleapis.com/google.cloud.tpu.v2.NetworkConfig), "n"',
      'Invalid value at \'node.scheduling_config.spot\' (TYPE_BOOL), "yes"',
    ].join('\n'),
    fields: ['node.description', 'node.labels[0].value', 'node', 'node.network_config', 'node.scheduling_config.spot'],
  },
  'an enum that is none': {
    verb: 'POST',
    path: `/v2alpha1/${PARENT}/nodes?nodeId=x`,
    body: `{${NODE},"acceleratorConfig":{"type":"V99"}}`,
    http: 400,
    message:
      'Invalid value at \'node.accelerator_config.type\' (type.googleapis.com/google.cloud.tpu.v2alpha1.AcceleratorConfig.Type), "V99"',
    fields: ['node.accelerator_config.type'],
  },
  'a time and a duration that are none': {
    verb: 'POST',
    path: `/v2/${PARENT}/queuedResources?queuedResourceId=x`,
    body: '{"queueingPolicy":{"validUntilTime":"tomorrow"},"guaranteed":{"minDuration":"1h"}}',
    http: 400,
    message: [
      "Invalid value at 'queued_resource.queueing_policy.valid_until_time' (type.googleapis.com/google.protobuf.Timestamp), Field 'validUntilTime', Illegal timestamp format; timestamps must end with 'Z' or have a valid timezone offset.",
      "Invalid value at 'queued_resource.guaranteed.min_duration' (type.googleapis.com/google.protobuf.Duration), Field 'minDuration', Illegal duration format; duration must end with 's'",
    ].join('\n'),
    fields: ['queued_resource.queueing_policy.valid_until_time', 'queued_resource.guaranteed.min_duration'],
  },
  'two of which one may be set': {
    verb: 'POST',
    path: `/v2/${PARENT}/queuedResources?queuedResourceId=x`,
    body: '{"spot":{},"guaranteed":{}}',
    http: 400,
    message: "Invalid value at 'queued_resource' (oneof), oneof field 'tier' is already set. Cannot set 'guaranteed'",
    fields: ['queued_resource'],
  },
  'a parameter that nobody knows': { path: `${NODES}?zone=us`, http: 400, message: unknownName('zone'), fields: [''] },
  'a filter of nodes, which have none': {
    path: `${NODES}?filter=a`,
    http: 400,
    message: unknownName('filter'),
    fields: [''],
  },
  'a parameter that is no number': {
    path: `${NODES}?pageSize=many`,
    http: 400,
    message: 'Invalid value at \'page_size\' (TYPE_INT32), "many"',
    fields: ['page_size'],
  },
  'what curl sends without a content type': {
    verb: 'POST',
    path: `${NODES}?nodeId=x`,
    body: '{}',
    type: 'application/x-www-form-urlencoded',
    http: 400,
    message: unknownName('{}'),
    fields: [''],
  },
  'a field selection that is none': {
    path: `${NODES}?fields=nodes(`,
    http: 400,
    message: 'Invalid field selection nodes(',
  },
  'a filter that is none': {
    path: `/v2/${PARENT}/acceleratorTypes?filter=what`,
    http: 400,
    message: "Invalid list filter: 'what'",
  },
  'a method that is not there': { verb: 'PUT', path: `${NODES}/x`, http: 404, message: 'Method not found.' },
  'a verb of a node that is not there': {
    verb: 'POST',
    path: `${NODES}/x:explode`,
    http: 404,
    message: 'Method not found.',
  },
  'a collection that is not there': { path: `/v2/${PARENT}/pods`, http: 404, message: 'Method not found.' },
  'a method of v2alpha1 in v2': { path: `/v2/${PARENT}/reservations`, http: 404, message: 'Method not found.' },
  'spot that is STANDARD, as gcloud alpha 528 asks for it': {
    verb: 'POST',
    path: `/v2alpha1/${PARENT}/queuedResources?queuedResourceId=x`,
    body: `{"spot":{},"provisioningModel":"STANDARD","tpu":{"nodeSpec":[{"parent":"${PARENT}","nodeId":"x","node":{${NODE}}}]}}`,
    http: 400,
    message: 'STANDARD provisioning model is incompatible with spot requests',
  },
};

describe('the REST API, in calls as curl makes them', () => {
  before(() => cloud.start());
  after(() => cloud.stop());

  for (const [name, { http, message, fields, ...asked }] of Object.entries(refusals)) {
    it(`refuses ${name} with ${http} and Google’s words`, async () => {
      const { status, json } = await ask(asked);
      const error = json['error'] as { readonly code: number; readonly message: string; readonly details?: Details };
      assert.deepEqual([status, error.code, error.message], [http, http, message]);
      const violations = error.details?.find((detail) => detail['@type'].endsWith('BadRequest'))?.fieldViolations;
      assert.deepEqual(
        violations?.map(({ field }) => field),
        fields,
      );
    });
  }

  it('makes a slice, waits, lists and deletes it, and keeps what nobody here knows', async () => {
    const body = `{${NODE},"reservationAffinity":{"values":["r"]},"scheduling_config":{"provisioningModel":"STANDARD"}}`;
    const made = await ask({
      verb: 'POST',
      path: `${NODES}?nodeId=whole&requestId=1&%24.xgafv=2&prettyPrint=false`,
      body,
    });
    assert.equal(made.status, 200);
    const operation = `/v2/${String(made.json['name'])}`;
    const done = await ask({ verb: 'POST', path: `${operation}:wait`, body: '{"timeout":"20s"}' });
    assert.equal(done.json['done'], true);
    assert.equal(
      (done.json['response'] as { readonly '@type': string })['@type'],
      'type.googleapis.com/google.cloud.tpu.v2.Node',
    );
    const { json: node } = await ask({ path: `${NODES}/whole` });
    assert.deepEqual(node['reservationAffinity'], { values: ['r'] });
    assert.deepEqual(node['schedulingConfig'], { provisioningModel: 'STANDARD' });
    const listed = await ask({ path: '/v2/projects/p/locations/-/nodes?fields=nodes(name,state)' });
    assert.deepEqual(listed.json, { nodes: [{ name: `${PARENT}/nodes/whole`, state: 'READY' }] });
    const numbers = await ask({ path: `${NODES}/whole?%24alt=json%3Benum-encoding%3Dint` });
    assert.deepEqual([numbers.json['state'], numbers.json['apiVersion']], [2, 4]);
    const alpha = await ask({ path: `/v2alpha1/${PARENT}/nodes/whole` });
    assert.equal(alpha.json['apiVersion'], 'V2_ALPHA1');
    const removed = await ask({ verb: 'DELETE', path: `${NODES}/whole` });
    await ask({ verb: 'POST', path: `/v2/${String(removed.json['name'])}:wait`, body: '' });
    assert.equal((await ask({ path: `${NODES}/whole` })).status, 404);
    assert.equal((await ask({ verb: 'DELETE', path: operation })).status, 200);
    assert.equal((await ask({ path: operation })).status, 404);
  });

  it('takes numbers for enums, text for numbers, one value for a list and either spelling of a name', async () => {
    const body = `{"accelerator_config":{"type":9,"topology":"2x4"},"runtime_version":"v2-alpha-tpuv5-lite","tags":"a","network_config":{"queueCount":"4"}}`;
    await ask({ verb: 'POST', path: `/v2/${PARENT}/nodes?node_id=forms`, body });
    const { json } = await ask({ path: `${NODES}/forms` });
    assert.equal(json['acceleratorType'], 'v5litepod-8');
    assert.deepEqual(json['tags'], ['a']);
    assert.equal((json['networkConfig'] as { readonly queueCount: number }).queueCount, 4);
    await ask({ verb: 'DELETE', path: `${NODES}/forms` });
  });

  it('tells places, types and runtimes: all, by name and by filter', async () => {
    const zones = await ask({ path: '/v1/projects/p/locations?pageSize=3' });
    assert.equal((zones.json['locations'] as readonly unknown[]).length, 3);
    const zone = await ask({ path: `/v1/${PARENT}` });
    assert.equal(zone.json['locationId'], 'us-central1-a');
    const types = await ask({ path: `/v1/${PARENT}/acceleratorTypes?filter=type%3Dv6e-8` });
    const name = `${PARENT}/acceleratorTypes/v6e-8`;
    assert.deepEqual(
      (types.json['acceleratorTypes'] as readonly { readonly name: string }[]).map((type) => type.name),
      [name],
    );
    assert.equal((await ask({ path: `/v2/${name}` })).json['type'], 'v6e-8');
    assert.equal((await ask({ path: `/v2/${PARENT}/acceleratorTypes/v9-8` })).status, 404);
    const runtime = `${PARENT}/runtimeVersions/v2-alpha-tpuv6e`;
    assert.equal((await ask({ path: `/v2alpha1/${runtime}` })).json['version'], 'v2-alpha-tpuv6e');
    const identity = await ask({ verb: 'POST', path: `/v2/${PARENT}:generateServiceIdentity`, body: '{}' });
    assert.deepEqual(identity.json, { identity: { email: 'service-123456789012@cloud-tpu.iam.gserviceaccount.com' } });
  });
});

type Details = readonly {
  readonly '@type': string;
  readonly fieldViolations?: readonly { readonly field?: string }[];
}[];
