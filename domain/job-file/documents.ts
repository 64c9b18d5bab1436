import { idsAfter } from '../after.js';
import type { JobArray } from '../array/array.js';
import type { JobSpec } from '../job-spec.js';
import { idsOfInputs, mapInputs } from '../inputs.js';
import { nearestWord } from '../nearest-word.js';
import type { Problem } from '../problem.js';
import { foreignDocuments } from './foreign/files.js';
import { isMapping, valueAt } from './plain-tree.js';
import { YamlSource } from './yaml-source.js';

/** Most jobs of one file. */
const MOST_DOCUMENTS = 100;
/** Matches a line that begins a document. No text of a value begins in the first column. */
const MARK = /^---(?=\s|$)/;

/**
 * The documents of a job file, each with blank lines in the place of those before it, so that problems keep their lines. A file
 * of another tool is left whole, so that it is recognized later.
 */
export function jobDocuments(text: string, file: string): readonly string[] {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, index) => (MARK.test(line) ? [index] : []));
  if (starts.length === 0) return [text];
  const bounds = [...(starts[0] === 0 ? [] : [0]), ...starts, lines.length];
  const documents = bounds.slice(0, -1).flatMap((start, index) => {
    const own = lines.slice(start, bounds[index + 1]);
    // A line that begins with % is a directive of YAML's, to the document behind it.
    const isEmpty = own.every((line) => /^\s*(#.*)?$|^%/.test(line.replace(MARK, '')));
    const isLast = bounds[index + 1] === lines.length;
    return isEmpty ? [] : ['\n'.repeat(start) + own.join('\n') + (isLast ? '' : '\n')];
  });
  if (documents.length === 0) return [''];
  if (documents.length === 1) return starts.length === 1 ? [text] : documents;
  const foreign = foreignDocuments(new YamlSource(text).foreign(), file);
  return foreign === undefined ? documents : [text];
}

/** One job of a file of several. */
interface Linked {
  /** Its file as plain JSON. */
  readonly raw: unknown;
  readonly spec: Pick<JobSpec, 'after' | 'inputs' | 'command'>;
  readonly array?: Pick<JobArray, 'after'>;
}

/** A problem in one of the documents. */
type Placed = Problem & { readonly document: number };

type Order =
  | { readonly ok: true; readonly order: readonly number[] }
  | { readonly ok: false; readonly problems: readonly Placed[] };

const nameOf = ({ raw }: Linked): unknown => valueAt(raw, ['name']);
const othersOf = ({ spec, array }: Linked): readonly string[] => idsAfter(spec.after ?? array?.after ?? {});
/** The order in which jobs of one file can be submitted: each job after the jobs of the file that its `after` names. */
export function orderOf(jobs: readonly Linked[]): Order {
  if (jobs.length > MOST_DOCUMENTS)
    return wrong([
      {
        document: MOST_DOCUMENTS,
        path: [],
        message: `the file has ${jobs.length} jobs, and ${MOST_DOCUMENTS} are the most`,
      },
    ]);
  const names = jobs.map(nameOf);
  const unnamed = names.flatMap((name, document): readonly Placed[] => {
    if (typeof name !== 'string')
      return [
        {
          document,
          path: ['name'],
          message: 'is missing: each job of a file of several has one',
          hint: 'after: names them',
        },
      ];
    const first = names.indexOf(name);
    return first === document
      ? []
      : [{ document, path: ['name'], value: name, message: `'${name}' is the name of another job of this file too` }];
  });
  if (unnamed.length > 0) return wrong(unnamed);
  const empty = jobs.flatMap(({ spec }, document): readonly Placed[] =>
    idsOfInputs(spec.inputs).flatMap((job) => {
      const of = jobs[names.indexOf(job)];
      if (of === undefined || of.spec.command !== undefined) return [];
      return [{ document, path: ['inputs'], value: job, message: `${job} has no command, so it stores no outputs` }];
    }),
  );
  if (empty.length > 0) return wrong(empty);
  const behind = jobs.map((job) =>
    othersOf(job)
      .map((id) => names.indexOf(id))
      .filter((index) => index !== -1),
  );
  const order: number[] = [];
  while (order.length < jobs.length) {
    const next = behind.findIndex(
      (before, index) => !order.includes(index) && before.every((one) => order.includes(one)),
    );
    if (next === -1) return wrong([inCircle(names as string[], behind, order)]);
    order.push(next);
  }
  return { ok: true, order };
}

const wrong = (problems: readonly Placed[]): Order => ({ ok: false, problems });

function inCircle(names: readonly string[], behind: readonly (readonly number[])[], done: readonly number[]) {
  const left = names.flatMap((_, index) => (done.includes(index) ? [] : [index]));
  const circle: number[] = [];
  for (let at = left[0] ?? 0; !circle.includes(at); at = (behind[at] ?? []).find((one) => left.includes(one)) ?? at)
    circle.push(at);
  const last = (behind[circle.at(-1) ?? 0] ?? []).find((one) => circle.includes(one)) ?? 0;
  const round = [...circle.slice(circle.indexOf(last)), last].map((index) => names[index]);
  return {
    document: last,
    path: ['after'],
    message: `waits for itself: ${round.join(' waits for ')}`,
    hint: 'one of them has to begin first',
  };
}

/** Ids in `after` that are not jobs of the file, each with the first document that names it. `meant`: the nearest name. */
export function outsideOf(
  jobs: readonly Linked[],
): readonly { readonly id: string; readonly document: number; readonly meant?: string }[] {
  const names = jobs.map(nameOf).filter((name) => typeof name === 'string');
  const found = new Map<string, number>();
  for (const [document, job] of jobs.entries())
    for (const id of othersOf(job)) if (!names.includes(id) && !found.has(id)) found.set(id, document);
  return [...found].map(([id, document]) => {
    const meant = nearestWord(id, names);
    return { id, document, ...(meant !== undefined && { meant }) };
  });
}

/** A job file whose `after` and `inputs` have ids in the place of names. @param ids of jobs that were submitted, by name */
export function withIds(raw: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (!isMapping(raw) || (raw['after'] === undefined && raw['inputs'] === undefined)) return raw;
  const idOf = (value: unknown): unknown => (typeof value === 'string' ? (ids.get(value) ?? value) : value);
  const inList = (value: unknown): unknown => (Array.isArray(value) ? value.map(idOf) : idOf(value));
  const { after, inputs } = raw;
  const changed = isMapping(after)
    ? Object.fromEntries(Object.entries(after).map(([key, value]) => [key, inList(value)]))
    : inList(after);
  return {
    ...raw,
    ...(after !== undefined && { after: changed }),
    ...(inputs !== undefined && { inputs: mapInputs(inputs, (input) => ({ ...input, job: idOf(input['job']) })) }),
  };
}
