/** The state of the page, as its address holds it: a screen with its filters. A link therefore restores all of it. */
export type Screen =
  | { readonly name: 'board' }
  | { readonly name: 'job'; readonly id: string }
  | { readonly name: 'group'; readonly id: string }
  | { readonly name: 'pool'; readonly id: string }
  | { readonly name: 'schedules' }
  | { readonly name: 'nowhere' };

const BASE = '/ui';
const SCREENS: ReadonlyMap<string, 'job' | 'group' | 'pool'> = new Map([
  ['jobs', 'job'],
  ['groups', 'group'],
  ['pools', 'pool'],
]);

export function screenOf(pathname: string): Screen {
  const words = pathname
    .slice(BASE.length)
    .split('/')
    .filter((word) => word !== '');
  const [kind = '', id, ...more] = words;
  if (words.length === 0) return { name: 'board' };
  if (kind === 'schedules' && id === undefined) return { name: 'schedules' };
  const name = SCREENS.get(kind);
  if (name === undefined || id === undefined || more.length > 0) return { name: 'nowhere' };
  try {
    return { name, id: decodeURIComponent(id) };
  } catch {
    return { name: 'nowhere' };
  }
}

export function addressOf(screen: Exclude<Screen, { readonly name: 'nowhere' }>): string {
  if (screen.name === 'board') return `${BASE}/`;
  if (screen.name === 'schedules') return `${BASE}/schedules`;
  return `${BASE}/${screen.name}s/${encodeURIComponent(screen.id)}`;
}

export interface BoardFilters {
  /** Looked for in ids, users, projects, types and reasons. */
  readonly text: string;
  readonly phases: readonly string[];
  readonly user: string;
  readonly project: string;
  readonly pool: string;
  /** Also jobs that ended more than a day ago. */
  readonly isAll: boolean;
}

export function filtersOf(search: string): BoardFilters {
  const said = new URLSearchParams(search);
  const text = (key: string): string => said.get(key)?.slice(0, 100) ?? '';
  return {
    text: text('q'),
    phases: (said.get('phase') ?? '').split(',').filter((phase) => /^[a-z-]{1,20}$/.test(phase)),
    user: text('user'),
    project: text('project'),
    pool: text('pool'),
    isAll: said.has('all'),
  };
}

/** The shortest search that `filtersOf` reads back to the same filters. */
export function searchOf({ text, phases, user, project, pool, isAll }: BoardFilters): string {
  const said = Object.entries({ q: text, phase: phases.join(','), user, project, pool, all: isAll ? '1' : '' });
  const search = new URLSearchParams(said.filter(([, value]) => value !== '')).toString();
  return search === '' ? '' : `?${search}`;
}

interface Row {
  readonly id: string;
  readonly user: string;
  readonly project: string;
  readonly slice: string;
  readonly phase: string;
  readonly why?: string | undefined;
  readonly place?: { readonly why: string } | undefined;
}

/** Whether every word of the text stands somewhere in the row. */
export function isFound({ id, user, project, slice, phase, why = '', place }: Row, text: string): boolean {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return true;
  const all = [id, user, project, slice, phase, why, place?.why ?? ''].join('\n').toLowerCase();
  return words.every((word) => all.includes(word));
}

/** A line of a log, as a link names it: `a2.h0.12345` is the line of host 0 in attempt 2 that begins at byte 12345. */
export interface LinePlace {
  readonly attempt: number;
  readonly host: number;
  readonly offset: number;
}
export const lineText = ({ attempt, host, offset }: LinePlace): string => `a${attempt}.h${host}.${offset}`;
export function linePlace(text: string | null): LinePlace | undefined {
  const [, attempt, host, offset] = /^a(\d{1,9})\.h(\d{1,6})\.(\d{1,15})$/.exec(text ?? '') ?? [];
  return attempt === undefined ? undefined : { attempt: Number(attempt), host: Number(host), offset: Number(offset) };
}

/** Numbers of hosts as people write them, `0,2-4`; undefined means all of them. */
export function hostsOf(text: string | null): readonly number[] | undefined {
  if (text === null || text.trim() === '' || text.trim() === 'all') return undefined;
  const hosts = new Set<number>();
  for (const part of text.split(',')) {
    const [, from, to] = /^\s*(\d{1,5})(?:\s*-\s*(\d{1,5}))?\s*$/.exec(part) ?? [];
    if (from === undefined) continue;
    const last = Math.min(Number(to ?? from), Number(from) + MOST_HOSTS);
    for (let host = Number(from); host <= last && hosts.size < MOST_HOSTS; host++) hosts.add(host);
  }
  return hosts.size === 0 ? undefined : [...hosts].toSorted((a, b) => a - b);
}
const MOST_HOSTS = 1_000;
