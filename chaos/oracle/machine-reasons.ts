import type { DeedKind, Evidence } from './evidence.js';

/** Reason that jobctl gives if a job cannot have the pool's own machines: `NAME WHY; NAME WHY ..`. */
const NOT_HAD =
  /^(?:\d+ machines? .* cannot be had now|not all machines could be claimed within \d+ s): (?<machines>.*)$/u;
/** Deeds after which a machine may be called sick, silent or put aside. */
const MAKES_UNWELL: ReadonlySet<DeedKind> = new Set(['unwell', 'power-cut', 'full-disk', 'forgot', 'killed-processes']);
/** Reasons about the worker's store: it holds the host keys that are needed to reach a machine. */
const OF_THE_STORE = /gs:\/\/|store|bucket/iu;

/** Why a text about machines is not true; undefined if it is true, or about something else. @param until epoch ms */
export function untrueOfMachines(words: string, until: number, evidence: Evidence): string | undefined {
  const said = NOT_HAD.exec(words)?.groups?.['machines'];
  if (said === undefined) return undefined;
  const found = partsOf(said, evidence).map(({ name, why }) => untrue(name, why, until, evidence));
  return found.length === 0 ? 'it names no machine' : found.find((each) => each !== undefined);
}

export const isAboutMachines = (words: string): boolean => NOT_HAD.test(words);

/** Splits a text by machines. A reason may contain semicolons, so only a machine's name begins a new part. */
function partsOf(
  said: string,
  { machines = [] }: Evidence,
): readonly { readonly name: string; readonly why: string }[] {
  return said.split('; ').reduce<{ name: string; why: string }[]>((parts, each) => {
    const name = machines.find((machine) => each.startsWith(`${machine.name} `))?.name;
    const last = parts.at(-1);
    if (name !== undefined) parts.push({ name, why: each.slice(name.length + 1) });
    else if (last !== undefined) last.why += `; ${each}`;
    return parts;
  }, []);
}

function untrue(name: string, why: string, until: number, { deeds, jobs }: Evidence): string | undefined {
  const wasDone = (isOf: (kind: DeedKind) => boolean): boolean =>
    deeds.some(({ kind, resource, at }) => resource === name && isOf(kind) && at <= until);
  const [, slice] = /^is held by slice (\S+)/u.exec(why) ?? [];
  if (slice !== undefined)
    return jobs.some(({ id }) => slice.includes(`-${id}-`)) ? undefined : `no job has a slice ${slice}`;
  if (why.startsWith('is drained by '))
    return wasDone((kind) => kind === 'drained') ? undefined : `nobody drained ${name}`;
  if (wasDone((kind) => MAKES_UNWELL.has(kind)) || OF_THE_STORE.test(why)) return undefined;
  return why.startsWith('the slice was given back meanwhile') ? undefined : `nothing was wrong with ${name}`;
}
