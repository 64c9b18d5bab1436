import { isDeepStrictEqual } from 'node:util';
import { ApiRefusal, refusals } from './api-status.js';
import type { Pod } from './objects.js';
import { PODS } from './resources.js';

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** Changes that a patch may make here. A real API server lets a few other fields of a pod be changed too. */
const CHANGEABLE = /^\/(metadata\/(labels|annotations)|spec\/schedulingGates)(\/|$)/;

/**
 * A pod after a JSON Patch (RFC 6902) with `test`, `remove`, `replace` and `add`; `-` as an index is not known.
 * @throws ApiRefusal
 */
export function patchedPod(pod: Pod, operations: unknown): Pod {
  if (!Array.isArray(operations))
    throw refusals.badRequest('json: cannot unmarshal object into Go value of type []patch');
  const changed = structuredClone<Pod>(pod);
  for (const operation of operations as readonly Operation[]) apply(changed, operation, pod);
  const [before, after] = [pod.spec.schedulingGates ?? [], changed.spec.schedulingGates ?? []];
  if (after.some((gate) => !before.some((known) => isDeepStrictEqual(known, gate))))
    throw refusals.invalid(PODS, pod.metadata.name, [
      'spec.schedulingGates: Forbidden: only deletion is allowed, but found new scheduling gates',
    ]);
  return changed;
}

function apply(target: Pod, { op, path, value }: Operation, pod: Pod): void {
  const keys = path.split('/').slice(1).map(unescaped);
  const last = keys.pop() ?? '';
  const parent = keys.reduce<unknown>((at, key) => (at as Tree | undefined)?.[key], target) as Tree | undefined;
  const isThere = parent !== undefined && Object.hasOwn(parent, last);
  if (op === 'test') {
    if (!isThere || !isDeepStrictEqual(parent[last], value)) throw failed();
    return;
  }
  if (!CHANGEABLE.test(path))
    throw refusals.invalid(PODS, pod.metadata.name, [
      'spec: Forbidden: the rehearsal lets a patch change labels, annotations and scheduling gates alone',
    ]);
  if (parent === undefined || (op !== 'add' && !isThere)) throw failed();
  if (op === 'remove') {
    if (Array.isArray(parent)) parent.splice(Number(last), 1);
    else delete parent[last];
  } else if (op === 'add' && Array.isArray(parent)) parent.splice(Number(last), 0, value);
  else if (op === 'add' || op === 'replace') parent[last] = value;
  else throw refusals.badRequest(`unexpected kind: ${op}`);
}

type Tree = Record<string, unknown>;

const unescaped = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');

/** The refusal of Kubernetes 1.34, which does not say which operation of the patch failed. */
const failed = (): ApiRefusal =>
  new ApiRefusal(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
