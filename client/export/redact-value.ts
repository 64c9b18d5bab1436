import { REQUEST_SECTIONS } from '../../domain/job-file/machine-request.js';
import type { Pseudonyms } from './pseudonyms.js';

/**
 * `words`: text of jobctl. `job`: the sections of a job file or spec. `user`: a user's values whose form is checked again; `map`:
 * the same, with keys that are the user's too. `secret`: values that are removed completely; `variables`: the same, with their
 * keys. `times`: the section `timeouts`, which also has a key `run`.
 */
type Mode = 'words' | 'job' | 'user' | 'map' | 'secret' | 'variables' | 'times';

/** Sections of a job file and a spec that are structure: machines, durations, counts and names. */
const STRUCTURE: ReadonlySet<string> = new Set([
  ...keys(`name project pool user priority slices grace graceSeconds retries keep loop timeouts namedPricing
  remoteUser remote_user env_type notify job setup modules hosts workers`),
  ...REQUEST_SECTIONS.flatMap(({ name, isExported }) => (isExported ? [name] : [])),
]);
/** Text for a shell, a file or the hosts, in any section. */
const SECRET =
  keys(`run cmd script check install prefix steps startup_script startupScript config_entry content source tail
  stdin requirements flags create_flags`);
const VARIABLES = keys('env metadata');
const MAPS = keys('labels secrets files identityKeys');
const DURATION = /^(?:\d{1,4}(?:\.\d+)?(?:ms|s|m|h|d))+$/;
/** Amounts of CPUs and memory as Kubernetes writes them: requests for machines. */
const QUANTITY = /^\d{1,6}(?:\.\d+)?(?:m|[kMGT]i?)?$/;
const RUN_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
const ONE_WORD = /^[a-z]+$/;
const REFERENCE = /(\$\{[\w.]+\})/;

/** A plain JSON value of workflows and records, without the user's data. */
export function redactValue(value: unknown, names: Pseudonyms, mode: Mode = 'words'): unknown {
  if (typeof value === 'string') return redactText(value, names, mode);
  if (typeof value === 'number') return mode === 'secret' || mode === 'variables' ? 0 : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => redactValue(item, names, mode));
  if (mode === 'words' && isAssignment(value)) return redactAssignment(value, names);
  const entries = Object.entries(value).map(([key, child]) => [
    redactKey(key, names, mode),
    redactValue(child, names, modeOf(key, child, mode)),
  ]);
  return Object.fromEntries(entries) as unknown;
}

/** The mode for the value under this key. */
function modeOf(key: string, child: unknown, mode: Mode): Mode {
  if (mode === 'variables' || mode === 'secret') return 'secret';
  if (mode === 'times' || key === 'timeouts') return 'times';
  if (VARIABLES.has(key)) return 'variables';
  // `run` is also the run of a job's workflow.
  if (SECRET.has(key) && !(mode === 'words' && typeof child === 'string' && RUN_ID.test(child))) return 'secret';
  if (MAPS.has(key)) return 'map';
  if (mode === 'map') return 'user';
  if (mode === 'job') return STRUCTURE.has(key) ? 'words' : 'user';
  return mode === 'words' && isJobFile(key, child) ? 'job' : mode;
}

/** In other places, `job` holds a job's name and run. */
function isJobFile(key: string, child: unknown): boolean {
  if (typeof child !== 'object' || child === null) return false;
  return key === 'spec' || (key === 'job' && !('id' in child && 'run' in child));
}

function redactKey(key: string, names: Pseudonyms, mode: Mode): string {
  return mode === 'map' || mode === 'variables' ? names.masked(key) : names.words(key);
}

function redactText(text: string, names: Pseudonyms, mode: Mode): string {
  if (mode === 'secret' || mode === 'variables') return names.text(text);
  if (mode === 'words' || mode === 'times') return names.words(text);
  if (DURATION.test(text) || QUANTITY.test(text) || text === '') return text;
  if (text.includes('\n')) return names.text(text);
  if (ONE_WORD.test(text)) return names.words(text);
  // A reference to another value of the file is resolved again, so it stays.
  return text
    .split(REFERENCE)
    .map((part) => (REFERENCE.test(part) ? names.words(part) : names.masked(part)))
    .join('');
}

// `--set KEY=VALUE` -----------------------------------------------------------------------------------------------------

interface Assignment {
  readonly path: readonly (string | number)[];
  readonly value: unknown;
}

const isAssignment = (value: object): value is Assignment =>
  'path' in value && 'value' in value && Array.isArray(value.path);

/** Redacts the value like the same value at its place in a job file. */
function redactAssignment({ path, value }: Assignment, names: Pseudonyms): Assignment {
  let mode: Mode = 'job';
  const redactedPath = path.map((key) => {
    const shown = typeof key === 'string' ? redactKey(key, names, mode) : key;
    mode = modeOf(String(key), undefined, mode);
    return shown;
  });
  return { path: redactedPath, value: redactValue(value, names, mode) };
}

function keys(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/));
}
