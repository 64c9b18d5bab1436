import type { JobView } from '../contract/job.js';
import { usdText } from './words.js';

/**
 * Reads objects that jobctl and its hosts store for a job. Hosts may write anything there, and the server may be newer than the
 * page. So values of an unexpected form are left out.
 */

type Tree = Readonly<Record<string, unknown>>;
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);
const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

function treeIn(text: string): Tree | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTree(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Outputs -------------------------------------------------------------------------------------------------------------

/** A manifest of outputs: of one host, in one attempt. */
export interface ManifestPlace {
  readonly name: string;
  readonly attempt: number;
  readonly host: number;
}

/** The manifests among stored objects: the newest attempt first, then by host. */
export function manifestsOf(names: readonly string[]): readonly ManifestPlace[] {
  return names
    .flatMap((name): readonly ManifestPlace[] => {
      const [, attempt, host] = /\/manifests\/a(\d{1,9})\/host-(\d{1,9})\.jsonl$/.exec(name) ?? [];
      return host === undefined ? [] : [{ name, attempt: Number(attempt), host: Number(host) }];
    })
    .toSorted((a, b) => b.attempt - a.attempt || a.host - b.host);
}

export interface StoredFile {
  readonly path: string;
  /** Target, if it is a symbolic link. */
  readonly target?: string;
  readonly size?: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt?: number;
  /** Hash of the content, which names its object. Absent: the entry is a link. */
  readonly sha256?: string;
}

export interface StoredOutputs {
  /** Files and links. */
  readonly files: readonly StoredFile[];
  /** Number of files in the manifest's total whose content is not listed in a readable entry. */
  readonly left: number;
  /** The command was still running when they were stored. */
  readonly isEarlier: boolean;
  readonly problems: readonly string[];
}

/** Reads a manifest. Undefined: the text is not a manifest. */
export function outputsIn(text: string): StoredOutputs | undefined {
  const [first = '', ...lines] = text.split('\n');
  const header = treeIn(first);
  if (header?.['v'] !== 1) return undefined;
  const files = lines.flatMap(fileIn);
  const told = isAmount(header['files']) ? header['files'] : 0;
  return {
    files,
    left: Math.max(0, told - files.filter(({ sha256 }) => sha256 !== undefined).length),
    isEarlier: header['state'] !== 'ended',
    problems: [header['problems'], header['unmatched']].flatMap((each) =>
      Array.isArray(each) ? each.filter((text) => typeof text === 'string') : [],
    ),
  };
}

function fileIn(line: string): readonly StoredFile[] {
  const { path, link, size, mtime, sha256 } = treeIn(line) ?? {};
  if (typeof path !== 'string') return [];
  if (typeof link === 'string') return [{ path, target: link }];
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256) || !isAmount(size)) return [];
  return [{ path, size, sha256, ...(isAmount(mtime) && { modifiedAt: Math.round(mtime * 1_000) }) }];
}

// Files ---------------------------------------------------------------------------------------------------------------

/** Attempts whose job file differs from the submitted one, found among the names of stored objects. The newest is first. */
export function editsOf(names: readonly string[]): readonly { readonly attempt: number; readonly name: string }[] {
  const found = names.flatMap((name) => {
    const attempt = /\/attempts\/(\d{1,9})\.yaml$/.exec(name)?.[1];
    return attempt === undefined ? [] : [{ attempt: Number(attempt), name }];
  });
  return found.toSorted((a, b) => b.attempt - a.attempt);
}

// The account ---------------------------------------------------------------------------------------------------------

type Shown = NonNullable<JobView['usage']>;

/** Chip-time of a job by use. For an open job it comes from the job's workflow, for an ended one from the store. */
export interface Account extends Omit<Shown, 'at' | 'places'> {
  /** For an open job: the time up to which it counts. */
  readonly at?: number;
  /** Number of slices that were not yet seen gone at that time. */
  readonly leaving?: number;
}

export type Part = keyof Shown['parts'];
/** Parts of a job's life in their order, and whether the provider charges for them. */
export const PARTS: readonly (readonly [part: Part, words: string, isCharged: boolean])[] = [
  ['waiting', 'waiting for chips', false],
  ['setUp', 'set-up', true],
  ['useful', 'useful work', true],
  ['lost', 'work lost', true],
  ['restart', 'restart', true],
  ['idle', 'idle', true],
  ['draining', 'draining', false],
];

/** Reads the stored account of an ended job. Undefined: the text is not an account, or has another version. */
export function accountIn(text: string): Account | undefined {
  const { v, unit, parts, charged, lost, usd, unpriced, prices, leaving } = treeIn(text) ?? {};
  const isWhole = v === 1 && isTree(parts) && PARTS.every(([part]) => isAmount(parts[part])) && isAmount(charged);
  if (!isWhole || (unit !== 'chip' && unit !== 'host')) return undefined;
  return {
    ...{ unit, charged, parts: parts as Account['parts'] },
    lost: lost === 'none' || lost === 'counted' ? lost : 'unknown',
    ...(isAmount(usd) && { usd }),
    ...(isAmount(unpriced) && { unpriced }),
    ...(Array.isArray(prices) && { prices: prices.filter((each) => typeof each === 'string') }),
    ...(Array.isArray(leaving) && { leaving: leaving.length }),
  };
}

/** The useful share of charged time, in words: `90.8 %`, `at most 90.8 %`. An unknown share is never shown as 0. */
export function goodputWords({ parts, charged, lost }: Account): string {
  if (charged === 0) return 'unknown: nothing was charged';
  return `${lost === 'unknown' ? 'at most ' : ''}${percent(parts.useful / charged)}`;
}

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** The cost, in words. An unknown price is never shown as 0. */
export function costWords({ usd, unpriced, unit }: Account): string {
  const without = unpriced === undefined ? '' : `${(unpriced / 3_600).toFixed(3)} ${unit}-hours have no known price`;
  if (usd === undefined) return without === '' ? 'nothing was charged' : `unknown: ${without}`;
  return `${usdText(usd)}${without === '' ? '' : ` and more: ${without}`}`;
}

// A set-up ------------------------------------------------------------------------------------------------------------

export interface SetUpStep {
  readonly host: number;
  readonly module: string;
  readonly step: string;
  readonly startedAt: number;
  readonly tries: number;
  /** It failed, and will be tried again. */
  readonly hasFailed: boolean;
}

/** The set-up of one attempt. */
export interface SetUp {
  readonly attempt: number;
  readonly hosts: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  /** In their order, with the number of hosts on which each is ready. */
  readonly modules: readonly { readonly name: string; readonly ready: number }[];
  /** The current step of hosts, the longest-running first. */
  readonly steps: readonly SetUpStep[];
}

/** The newest attempt with a set-up, and its object. */
export function newestSetUp(names: readonly string[]): { readonly name: string; readonly attempt: number } | undefined {
  const found = names.flatMap((name) => {
    const attempt = /\/setup\/a(\d{1,9})\.json$/.exec(name)?.[1];
    return attempt === undefined ? [] : [{ name, attempt: Number(attempt) }];
  });
  return found.toSorted((a, b) => b.attempt - a.attempt)[0];
}

/** Reads the record of a set-up. Undefined: the text has not the form that workers write. */
export function setUpIn(attempt: number, text: string): SetUp | undefined {
  const { v, modules, hosts, startedAt, endedAt, ready, steps } = treeIn(text) ?? {};
  if (v !== 1 || !Array.isArray(modules) || !isAmount(hosts) || !isAmount(startedAt) || !isTree(ready))
    return undefined;
  const readyOf = (name: string): number => {
    const number = Object.hasOwn(ready, name) ? ready[name] : 0;
    return isAmount(number) ? Math.min(number, hosts) : 0;
  };
  const latest = new Map<number, ReadStep>();
  for (const read of Array.isArray(steps) ? steps.flatMap(stepIn) : [])
    if (read.lastAt >= (latest.get(read.step.host)?.lastAt ?? 0)) latest.set(read.step.host, read);
  return {
    ...{ attempt, hosts, startedAt },
    ...(isAmount(endedAt) && { endedAt }),
    modules: modules
      .filter((name) => typeof name === 'string')
      .map((name): SetUp['modules'][number] => ({ name, ready: readyOf(name) })),
    steps: [...latest.values()]
      .filter(({ isUnderWay }) => isUnderWay)
      .map(({ step }) => step)
      .toSorted((a, b) => a.startedAt - b.startedAt),
  };
}

interface ReadStep {
  readonly step: SetUpStep;
  /** Start of its last try. */
  readonly lastAt: number;
  readonly isUnderWay: boolean;
}

function stepIn(value: unknown): readonly ReadStep[] {
  if (!isTree(value)) return [];
  const { host, module, step, startedAt, firstStartedAt, endedAt, tries, outcome } = value;
  if (!isAmount(host) || typeof module !== 'string' || typeof step !== 'string' || !isAmount(startedAt)) return [];
  const hasFailed = outcome === 'failed';
  const begun = {
    startedAt: isAmount(firstStartedAt) ? firstStartedAt : startedAt,
    tries: isAmount(tries) ? tries : 1,
  };
  return [
    {
      step: { ...{ host, module, step, hasFailed }, ...begun },
      lastAt: startedAt,
      isUnderWay: endedAt === undefined || hasFailed,
    },
  ];
}
