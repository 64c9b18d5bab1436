import assert from 'node:assert/strict';
import type protobuf from 'protobufjs';
import { findRule } from '../tpu/http-rules.js';
import { METHODS } from '../tpu/methods.js';
import { protoRoot } from '../tpu/protos.js';

const SERVICES = [
  'google.cloud.tpu.v2.Tpu',
  'google.cloud.tpu.v2alpha1.Tpu',
  'google.longrunning.Operations',
  'google.cloud.location.Locations',
];
const ZONE = 'projects/p/locations/z';

describe('the calls of Cloud TPU', () => {
  for (const service of SERVICES) {
    it(`${service}: each one in the protos is served`, () => {
      const { methodsArray } = protoRoot().lookupService(service);
      assert.ok(methodsArray.length >= 2);
      const missing = methodsArray.filter(({ name }) => METHODS[name] === undefined);
      assert.deepEqual(
        missing.map(({ name }) => name),
        [],
      );
    });
  }

  const calls: Readonly<Record<string, readonly [verb: string, path: string, fields: readonly string[]]>> = {
    ListNodes: ['GET', `/v2/${ZONE}/nodes`, [ZONE]],
    GetNode: ['GET', `/v2/${ZONE}/nodes/n`, [`${ZONE}/nodes/n`]],
    CreateNode: ['POST', `/v2alpha1/${ZONE}/nodes`, [ZONE]],
    UpdateNode: ['PATCH', `/v2/${ZONE}/nodes/n`, [`${ZONE}/nodes/n`]],
    DeleteNode: ['DELETE', `/v2/${ZONE}/nodes/n.~+%25-`, [`${ZONE}/nodes/n.~+%25-`]],
    StopNode: ['POST', `/v2/${ZONE}/nodes/n:stop`, [`${ZONE}/nodes/n`]],
    ResetQueuedResource: ['POST', `/v2/${ZONE}/queuedResources/q:reset`, [`${ZONE}/queuedResources/q`]],
    SimulateMaintenanceEvent: ['POST', `/v2alpha1/${ZONE}/nodes/n:simulateMaintenanceEvent`, [`${ZONE}/nodes/n`]],
    GenerateServiceIdentity: ['POST', `/v2/${ZONE}:generateServiceIdentity`, [ZONE]],
    GetOperation: ['GET', `/v1/${ZONE}/operations/o`, [`${ZONE}/operations/o`]],
    ListOperations: ['GET', `/v2/${ZONE}/operations`, [ZONE]],
    CancelOperation: ['POST', `/v2/${ZONE}/operations/o:cancel`, [`${ZONE}/operations/o`]],
    ListLocations: ['GET', '/v1/projects/p/locations', ['projects/p']],
    GetLocation: ['GET', `/v2/${ZONE}`, [ZONE]],
    ListAcceleratorTypes: ['GET', `/v1/${ZONE}/acceleratorTypes`, [ZONE]],
  };
  for (const [method, [verb, path, values]] of Object.entries(calls)) {
    it(`${verb} ${path} is ${method}`, () => {
      const found = findRule(verb, path);
      assert.deepEqual([found?.rule.method, found?.values], [method, values]);
    });
  }

  it('have, but for those of v1’s nodes, each a path of their own in each version', () => {
    for (const version of ['v2', 'v2alpha1']) {
      const service = protoRoot().lookupService(`google.cloud.tpu.${version}.Tpu`);
      const without = service.methodsArray.filter((method) => !isFound(method));
      assert.deepEqual(
        without.map(({ fullName }) => fullName),
        [],
      );
    }
    assert.equal(findRule('GET', `/v1/${ZONE}/nodes`), undefined);
  });
});

/** By its own annotation, with names in place of what varies. */
function isFound(method: protobuf.Method): boolean {
  const options = (method.parsedOptions ?? []) as unknown as readonly Readonly<
    Record<string, Readonly<Record<string, string>>>
  >[];
  const rule = options.find((option) => option['(google.api.http)'] !== undefined)?.['(google.api.http)'] ?? {};
  const verb = ['get', 'post', 'patch', 'delete'].find((name) => rule[name] !== undefined) ?? '';
  const path = (rule[verb] ?? '').replace(/\{[^=}]+=([^}]+)\}/g, '$1').replaceAll('*', 'x');
  return findRule(verb.toUpperCase(), path)?.rule.method === method.name;
}
