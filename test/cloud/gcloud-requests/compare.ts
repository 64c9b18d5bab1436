import { DIFFERS, type GcloudCase } from './cases.js';

/** A field that only one of two bodies has, or that both have with another value. */
export interface Difference {
  /** Such as `spot` or `node.labels.team`: of a queued resource's node as of a node. */
  readonly path: string;
  readonly gcloud: unknown;
  readonly ours: unknown;
}

/** Field by field. False is proto3's default, which gRPC does not carry: it counts as absent. */
export function differences(gcloud: unknown, ours: unknown): readonly Difference[] {
  const [theirs, own] = [fieldsOf(gcloud), fieldsOf(ours)];
  return [...new Set([...theirs.keys(), ...own.keys()])]
    .map((path) => ({ path, gcloud: theirs.get(path), ours: own.get(path) }))
    .filter((row) => JSON.stringify(row.gcloud) !== JSON.stringify(row.ours))
    .map((row) => ({ ...row, path: shortPath(row.path) }));
}

/** Those for which no row of the allow lists has a reason. */
export const unexplained = (found: readonly Difference[], { differs = {} }: GcloudCase): readonly Difference[] =>
  found.filter(({ path }) => !Object.keys({ ...DIFFERS, ...differs }).some((row) => matches(row, path)));

export const matches = (row: string, path: string): boolean =>
  row.endsWith('*') ? path.startsWith(row.slice(0, -1)) : path === row;

function shortPath(path: string): string {
  if (path.startsWith('tpu.nodeSpec.0.')) return path.slice('tpu.nodeSpec.0.'.length);
  return path;
}

function fieldsOf(body: unknown, path = ''): ReadonlyMap<string, unknown> {
  if (body === false) return new Map();
  if (typeof body !== 'object' || body === null) return new Map([[path, body]]);
  const entries = Object.entries(body).flatMap(([key, value]) => [
    ...fieldsOf(value, path === '' ? key : `${path}.${key}`),
  ]);
  return entries.length === 0 ? new Map([[path, {}]]) : new Map(entries);
}
