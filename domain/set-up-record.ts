import { z } from 'zod';
import { MOST_HOSTS } from './slice.js';
import type { EpochMs } from './units.js';

/** One step on one host, for `status --timeline`: its last try, by the worker's clock. */
export interface SetUpStepRecord {
  /** Position among all hosts of all slices, from 0, as in the names of logs. */
  readonly host: number;
  readonly module: string;
  /** `check` if the module was found unchanged. For the module `connect`: the wait until the host answered. */
  readonly step: string;
  readonly startedAt: EpochMs;
  /** Start of its first try, if there were several. */
  readonly firstStartedAt?: EpochMs;
  /** Absent while the step runs. */
  readonly endedAt?: EpochMs;
  readonly code?: number;
  readonly tries: number;
  readonly outcome?: 'unchanged' | 'done' | 'failed';
}

/** The set-up of one attempt in its stored form (domain/store-layout.ts, setUpObject). */
export interface SetUpRecord {
  readonly v: 1;
  readonly modules: readonly string[];
  /** Number of hosts. */
  readonly hosts: number;
  readonly startedAt: EpochMs;
  /** Absent while the set-up runs. */
  readonly endedAt?: EpochMs;
  /** Number of hosts on which each module is ready. */
  readonly ready: Readonly<Record<string, number>>;
  readonly steps: readonly SetUpStepRecord[];
}

const time = z.number().nonnegative().max(8.64e15);
const whole = z.int().nonnegative();
const recordShape = z.object({
  v: z.literal(1),
  modules: z.array(z.string()),
  hosts: whole.max(MOST_HOSTS),
  startedAt: time,
  endedAt: time.exactOptional(),
  ready: z.record(z.string(), whole),
  steps: z.array(
    z.object({
      ...{ host: whole.max(MOST_HOSTS), module: z.string(), step: z.string(), startedAt: time },
      ...{ firstStartedAt: time.exactOptional(), endedAt: time.exactOptional(), code: z.int().exactOptional() },
      ...{ tries: whole, outcome: z.enum(['unchanged', 'done', 'failed']).exactOptional() },
    }),
  ),
});

/** Reads a stored record. Undefined for a text that no worker writes: hosts too may write into the bucket of their jobs. */
export function readSetUpRecord(text: string): SetUpRecord | undefined {
  try {
    return recordShape.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** `ssh 4/4, gcsfuse 3/4`: the number of hosts on which each module is ready. */
export function setUpCounts({ modules, hosts, ready }: Pick<SetUpRecord, 'modules' | 'hosts' | 'ready'>): string {
  return modules.map((module) => `${module} ${ready[module] ?? 0}/${hosts}`).join(', ');
}

/**
 * The progress of a set-up that is under way: `venv 3/4 hosts, host 2: requirements`. The module is the first that is not ready
 * on all hosts. The host is the one that has been at its step for longest.
 * @param isAttended whether a worker attends it: steps of a worker that is gone are not under way
 */
export function setUpText(record: SetUpRecord, { isAttended }: { readonly isAttended: boolean }): string {
  const { modules, hosts, ready, steps } = record;
  const isConnected = (host: number): boolean =>
    steps.some((step) => step.host === host && step.module === CONNECT && step.endedAt !== undefined);
  const connected = new Set(steps.map(({ host }) => host).filter(isConnected)).size;
  const module = modules.find((name) => (ready[name] ?? 0) < hosts);
  const isConnecting = connected === 0 || module === undefined;
  const count = isConnecting
    ? `connected to ${connected}/${hosts} hosts`
    : `${module} ${ready[module] ?? 0}/${hosts} hosts`;
  if (!isAttended) return `${count}; no worker is at it now`;
  const slowest = latestSteps(record)
    .filter(({ endedAt, outcome }) => endedAt === undefined || outcome === 'failed')
    .toSorted((a, b) => since(a) - since(b))[0];
  return slowest === undefined ? count : `${count}, ${stepText(slowest, isConnecting ? CONNECT : module)}`;
}

/** The module and step that stand for the wait until a host answers. */
export const CONNECT = 'connect';

/** The last step that each host began. A step that a lost worker left open is older than the step of the worker after it. */
function latestSteps({ steps }: SetUpRecord): readonly SetUpStepRecord[] {
  const latest = new Map<number, SetUpStepRecord>();
  for (const step of steps) {
    const known = latest.get(step.host);
    if (known === undefined || step.startedAt >= known.startedAt) latest.set(step.host, step);
  }
  return [...latest.values()];
}

const since = ({ firstStartedAt, startedAt }: SetUpStepRecord): EpochMs => firstStartedAt ?? startedAt;

function stepText({ host, module, step, endedAt, code, tries }: SetUpStepRecord, shown: string): string {
  if (module === CONNECT) return `host ${host} does not answer yet`;
  const name = module === shown ? step : `${module} ${step}`;
  if (endedAt !== undefined) return `host ${host}: ${name} ended with code ${code ?? '?'}, to be tried again`;
  return `host ${host}: ${name}${tries === 1 ? '' : `, try ${tries}`}`;
}

/**
 * The meaning of a failed step of a set-up. `transient`: caused by the network, a registry, a lock or the disk, so a retry may
 * help. `permanent`: no retry helps. `unknown`: the step is tried a few times.
 */
export interface SetUpFailure {
  readonly kind: 'transient' | 'permanent' | 'unknown';
  /** In a few words. Absent for `unknown`. */
  readonly reason?: string;
}

/** The reaction to a failed step. `module-failed` ends the job, `host-bad` costs the slice. */
type SetUpVerdict =
  | { readonly kind: 'again'; readonly afterMs: number }
  | { readonly kind: 'give-up'; readonly as: 'module-failed' | 'host-bad' };

type Rule = readonly [reason: string, text: RegExp];

/**
 * Texts of the programs that the modules run. The first match decides, and transient failures come first: without a network, pip
 * retries and then says that there is no such package.
 */
const TRANSIENT: readonly Rule[] = [
  ['another program holds the lock of conda', /\bLockError\b|Failed to acquire lock|Could not acquire lock/i],
  ["dpkg's lock is held", /Could not get lock \/var\/(lib\/(dpkg|apt)|cache\/apt)|dpkg frontend lock/],
  ['the disk is full', /no space left on device|disk quota exceeded|ENOSPC/i],
  ['no memory', /Cannot allocate memory|fork: retry: Resource temporarily unavailable/],
  [
    'a name could not be resolved',
    /Temporary failure (in name resolution|resolving)|Could not resolve host|no such host|dns error|Name or service not known/i,
  ],
  [
    'the network did not answer',
    /Connection (timed out|reset|refused|aborted|broken)|Network is unreachable|TLS handshake timeout|i\/o timeout|Read timed out|Timeout was reached|Max retries exceeded|request canceled while waiting|Client\.Timeout exceeded|operation timed out|ConnectTimeoutError|CONNECTION FAILED|unexpected EOF|early EOF|did not match Content-Length/i,
  ],
  [
    'a server said 5xx or 429',
    /\b50[0234] (Server Error|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)|HTTP( status| error)?( code)?:? ?(50[0234]|52\d|429)\b|429 Client Error|unexpected (HTTP )?status( code)?:? .*\b50[0234]\b|returned error: (50[0234]|429)|\((50[0234]|429)\)|429 Too Many Requests|toomanyrequests/i,
  ],
  ['a mirror is being changed', /Hash Sum mismatch|File has unexpected size|Mirror sync in progress/],
];

const PERMANENT: readonly Rule[] = [
  [
    'the requirements name a file that is not on the host',
    /Could not open requirements file|looks like a filename, but the file does not exist|does not appear to be a Python project|Neither 'setup\.py' nor 'pyproject\.toml' found|is not a valid wheel filename|It looks like a path\. File|should either be a path to a local project|Could not install packages due to an OSError: \[Errno 2\]|error: File not found: `|Distribution not found at: file:/,
  ],
  ['a package needs another Python', /requires a different Python|is not a supported wheel on this platform/],
  ['pip may not change this Python', /externally-managed-environment/],
  [
    'pip cannot resolve the requirements',
    /No matching distribution found|Could not find a version that satisfies|ResolutionImpossible|conflicting dependencies|Double requirement given|Invalid requirement|Couldn't parse requirement/,
  ],
  ['uv finds no such package', /No solution found when resolving dependencies|not found in the package registry/],
  [
    'conda cannot make this environment',
    /PackagesNotFoundError|ResolvePackageNotFound|UnsatisfiableError|LibMambaUnsatisfiableError|EnvironmentFileNotFound|EnvironmentFileExtensionNotValid|EnvironmentFileEmpty|InvalidMatchSpec|InvalidVersionSpec|UnavailableInvalidChannel|NoChannelsConfiguredError|Could not solve for environment specs|CondaToSNonInteractiveError/,
  ],
  [
    'there is no such image',
    /manifest unknown|manifest for .* not found|repository does not exist|name unknown|no matching manifest for|invalid reference format/,
  ],
  [
    'the image may not be pulled',
    /pull access denied|denied: (requested access|Permission|Unauthenticated)|unauthorized:|no basic auth credentials/,
  ],
  ['there is no such bucket', /bucket (does not|doesn't) exist|notFound.*bucket|bucket not found/i],
  ['the bucket may not be read', /does not have storage\.|storage\.objects\.\w+ access|forbidden.*bucket/i],
  ['the Ray that the job needs is not there', /^ray: this host has (no )?Ray/m],
  ['apt finds no such package', /E: Unable to locate package|has no installation candidate/],
];

const MOST_CHARACTERS = 16_384;

/** The exit code of ssh, and of programs that could not be reached through it. */
const CONNECTION_CODE = 255;

/** A shell's exit code for a process that SIGKILL ended. */
export const KILLED = 137;
/**
 * The likely reason of an end by SIGKILL that nothing explains: a VM's kernel kills the largest process, and a program may not
 * read the kernel's log.
 */
export const MEMORY_RAN_OUT = 'often because memory ran out, of which there is no proof here';

/** @param tail the last lines that the step printed */
export function judgeSetUpFailure(code: number, tail: string): SetUpFailure {
  // Some expressions take time that grows with the square of a line.
  const end = tail.slice(-MOST_CHARACTERS);
  const transient = TRANSIENT.find(([, text]) => text.test(end));
  if (transient) return { kind: 'transient', reason: transient[0] };
  const permanent = PERMANENT.find(([, text]) => text.test(end));
  if (permanent) return { kind: 'permanent', reason: permanent[0] };
  if (code === KILLED) return { kind: 'unknown', reason: MEMORY_RAN_OUT };
  return code === CONNECTION_CODE ? { kind: 'transient', reason: 'a connection ended' } : { kind: 'unknown' };
}

/** Tries of one step on one host, including the first. */
const UNKNOWN_TRIES = 3;
const TRANSIENT_TRIES = 8;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/** @param tries failures of the step on this host so far, 1 or more */
export function afterSetUpFailure({ kind }: SetUpFailure, tries: number): SetUpVerdict {
  if (kind === 'permanent' || (kind === 'unknown' && tries >= UNKNOWN_TRIES))
    return { kind: 'give-up', as: 'module-failed' };
  if (tries >= TRANSIENT_TRIES) return { kind: 'give-up', as: 'host-bad' };
  return { kind: 'again', afterMs: Math.min(FIRST_PAUSE_MS * 2 ** (tries - 1), LONGEST_PAUSE_MS) };
}
