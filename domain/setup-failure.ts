/**
 * The meaning of a failed step of a set-up. `transient`: caused by the network, a registry, a lock or the disk, so worth waiting
 * for. `permanent`: no repetition helps. `unknown`: the step is tried a few times.
 */
export interface SetUpFailure {
  readonly kind: 'transient' | 'permanent' | 'unknown';
  /** In a few words. Absent for `unknown`. */
  readonly reason?: string;
}

/** The reaction to it. `module-failed` ends the job, `host-bad` costs the slice. */
export type SetUpVerdict =
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

/** @param tail the last lines that the step printed */
export function judgeSetUpFailure(code: number, tail: string): SetUpFailure {
  // Some expressions take time that grows with the square of a line.
  const end = tail.slice(-MOST_CHARACTERS);
  const transient = TRANSIENT.find(([, text]) => text.test(end));
  if (transient) return { kind: 'transient', reason: transient[0] };
  const permanent = PERMANENT.find(([, text]) => text.test(end));
  if (permanent) return { kind: 'permanent', reason: permanent[0] };
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
