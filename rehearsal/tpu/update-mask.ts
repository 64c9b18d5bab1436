import protobuf from 'protobufjs';
import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import { ApiError } from './api-error.js';
import { fieldOf, protoName } from './message-json.js';
import { protoRoot } from './protos.js';

/** Fields that UpdateNode may change (v2alpha1's proto: "The following fields may be updated"; v2's is the same). */
const UPDATABLE: readonly string[] = [
  'description',
  'tags',
  'labels',
  'metadata',
  'networkConfig.enableExternalIps',
  'dataDisks',
];

export interface NodeUpdate {
  readonly name: string;
  readonly node: JsonObject;
  /** Paths in proto3 JSON, such as `networkConfig.enableExternalIps`. */
  readonly mask: readonly string[];
}

/** Reads an UpdateNode request. `*` means every field that may be changed and that the request has. @throws ApiError */
export function readUpdate(request: JsonObject): NodeUpdate {
  const node = asObject(request['node']);
  const paths = asString(request['updateMask'])
    .split(',')
    .filter((path) => path !== '');
  if (paths.length === 0) throw new ApiError('INVALID_ARGUMENT', 'Field update_mask is required and was empty');
  const mask = paths.flatMap((path) =>
    path === '*' ? UPDATABLE.filter((name) => isIn(node, name)) : [canonical(path)],
  );
  for (const path of mask) checkPath(path);
  return { name: asString(node['name']), node, mask };
}

function canonical(path: string): string {
  return path.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function checkPath(path: string): void {
  if (UPDATABLE.some((name) => name === path || name.startsWith(`${path}.`))) return;
  const type = protoRoot().lookupType('google.cloud.tpu.v2alpha1.Node');
  const isField = fieldAt(type, path.split('.'));
  const why = isField ? 'cannot be updated' : 'is no field of a node';
  const wanted = UPDATABLE.map((name) => protoName(name)).join(', ');
  throw new ApiError('INVALID_ARGUMENT', `update_mask: '${protoName(path)}' ${why}; wanted some of ${wanted}`);
}

function fieldAt(type: protobuf.Type, [name = '', ...rest]: readonly string[]): boolean {
  const field = fieldOf(type, name)?.resolve();
  if (field === undefined || rest.length === 0) return field !== undefined;
  return field.resolvedType instanceof protobuf.Type && fieldAt(field.resolvedType, rest);
}

function isIn(node: JsonObject, path: string): boolean {
  return node[path.split('.')[0] ?? ''] !== undefined;
}
