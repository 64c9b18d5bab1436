import type { JobView } from '../contract/job.js';
import { usdText } from './words.js';

/**
 * Objects that jobctl and its hosts store of a job, as the page shows them. Hosts may write anything there, and a server may be
 * newer than what it reads: what has another form is left out.
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
  /** Of a link. */
  readonly target?: string;
  readonly size?: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt?: number;
  /** Names the object with the content. Absent: it is a link. */
  readonly sha256?: string;
}

export interface StoredOutputs {
  /** Files and links. */
  readonly files: readonly StoredFile[];
  /** Files of which the manifest says nothing that can be shown, or that did not come. */
  readonly left: number;
  /** The command was still running when they were stored. */
  readonly isEarlier: boolean;
  readonly problems: readonly string[];
}

/** Reads a manifest. Undefined: it is none. */
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

/** Attempts that ran by another file than the submitted one, among stored objects: the last first. */
export function editsOf(names: readonly string[]): readonly { readonly attempt: number; readonly name: string }[] {
  const found = names.flatMap((name) => {
    const attempt = /\/attempts\/(\d{1,9})\.yaml$/.exec(name)?.[1];
    return attempt === undefined ? [] : [{ attempt: Number(attempt), name }];
  });
  return found.toSorted((a, b) => b.attempt - a.attempt);
}

// The account ---------------------------------------------------------------------------------------------------------

type Shown = NonNullable<JobView['usage']>;

/** Where the chip-time of a job went: of an open job as its workflow tells it, of an ended one as it is stored. */
export interface Account extends Omit<Shown, 'at' | 'places'> {
  /** Of an open job: the account is made up to this time. */
  readonly at?: number;
  /** Slices that were not seen gone when it was made up. */
  readonly leaving?: number;
}

export type Part = keyof Shown['parts'];
/** In the order of a job's life, with whether its provider charges for it. */
export const PARTS: readonly (readonly [part: Part, words: string, isCharged: boolean])[] = [
  ['waiting', 'waiting for chips', false],
  ['setUp', 'set-up', true],
  ['useful', 'useful work', true],
  ['lost', 'work lost', true],
  ['restart', 'restart', true],
  ['idle', 'idle', true],
  ['draining', 'draining', false],
];

/** Reads the stored account of an ended job. Undefined: it is none, or of another version. */
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

/** The useful share of what is charged, in words: `90.8 %`, `at most 90.8 %`. An unknown one is never 0. */
export function goodputWords({ parts, charged, lost }: Account): string {
  if (charged === 0) return 'unknown: nothing was charged';
  return `${lost === 'unknown' ? 'at most ' : ''}${percent(parts.useful / charged)}`;
}

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** What it cost, in words. A price that is not known is never 0. */
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
  /** It failed, and is to be tried again. */
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
  /** What hosts are at, the longest first. */
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

/** Undefined for a text that no worker writes. */
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
