import type { JournalEvent } from '../../../rehearsal/journal.js';
import { tokenInFile } from '../../../cloud/access-token.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { RehearsalEndpoints } from '../../../rehearsal/index.js';
import { readDevContext, type DevContext } from '../../place/stack/context.js';
import { stackHome, type Environment } from '../../terminal/home.js';
import { OWN_LABEL_PREFIX } from '../../../domain/identity.js';
import { asTyped } from '../../terminal/print.js';
import { shellQuote } from '../../../domain/shell-quote.js';

/** Timeout of a call. A rehearsal on this computer answers in milliseconds, unless it is starting or stopping. */
const CALL_TIMEOUT_MS = 15_000;

/** The rehearsal's admin interface (docs/rehearsal.md): the only access of this command line to a rehearsal. */
export class RehearsalAdmin {
  readonly #url: string;
  readonly #tokenFile: string | undefined;

  /** @param url without a slash at the end @param tokenFile absent: the rehearsal does not ask for its token */
  constructor(url: string, tokenFile?: string) {
    this.#url = url;
    this.#tokenFile = tokenFile;
  }

  async status(): Promise<RehearsalStatus> {
    return JSON.parse(await this.#call('GET', 'status')) as RehearsalStatus;
  }

  /** Events after event number `after`, oldest first. */
  async journal(after: number): Promise<readonly JournalEvent[]> {
    const lines = (await this.#call('GET', `journal?after=${after}`)).split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as JournalEvent);
  }

  /** Everything that the simulated cloud knows, as JSON lines. */
  dump(): Promise<string> {
    return this.#call('GET', 'dump');
  }

  async get(verb: string): Promise<object> {
    return JSON.parse(await this.#call('GET', verb)) as object;
  }

  /** Changes the rehearsal. Undefined fields of `body` are not sent. */
  async post(verb: string, body: object): Promise<object> {
    return JSON.parse(await this.#call('POST', verb, body)) as object;
  }

  async delete(verb: string): Promise<object> {
    return JSON.parse(await this.#call('DELETE', verb)) as object;
  }

  async #call(method: string, path: string, body?: object): Promise<string> {
    const token = tokenInFile(this.#tokenFile);
    const headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : JSON_BODY),
    };
    const sent = { headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const signal = AbortSignal.timeout(CALL_TIMEOUT_MS);
    let answer: { readonly status: number; readonly text: string };
    try {
      const response = await fetch(`${this.#url}/admin/${path}`, { method, signal, ...sent });
      answer = { status: response.status, text: await response.text() };
    } catch (error) {
      throw unanswered(this.#url, error as Error);
    }
    if (answer.status >= 400) throw refusal(path, answer.status, answer.text);
    return answer.text;
  }
}

const JSON_BODY = { 'content-type': 'application/json' };

function unanswered(url: string, { message, cause }: Error): CliError {
  const why = cause instanceof Error ? cause.message : message;
  return new CliError(
    ExitCode.Unavailable,
    `the rehearsal at ${url} does not answer: ${why}`,
    '`jobctl dev status` shows the local stack, `jobctl dev up` starts what does not run',
  );
}

/** An error with the rehearsal's own message, which lists the existing objects if one is not found. */
function refusal(path: string, status: number, text: string): CliError {
  const exitCode = EXIT_CODES[status] ?? (status < 500 ? ExitCode.Usage : ExitCode.Failed);
  const [what = '', ...rest] = wordsOf(text).split('\n');
  const isUnknownVerb = status === 404 && what.startsWith('Route ');
  if (!isUnknownVerb) return new CliError(exitCode, what, ...rest.map((line) => line.trim()));
  const why = 'it is of another version of jobctl; `jobctl dev down` and `jobctl dev up` start this one';
  return new CliError(ExitCode.Unavailable, `the rehearsal that runs does not know /admin/${path}`, why);
}

const EXIT_CODES: Readonly<Record<number, ExitCode>> = { 404: ExitCode.NotFound, 409: ExitCode.Refused };

function wordsOf(text: string): string {
  try {
    const { error, message } = JSON.parse(text) as { readonly error?: string; readonly message?: string };
    return message ?? error ?? text;
  } catch {
    return text;
  }
}

interface LocalRehearsal {
  readonly stack: DevContext;
  readonly admin: RehearsalAdmin;
}

/** The rehearsal of the local stack. It may not be running. @throws CliError if there is none */
export function localRehearsal(env: Environment = process.env): LocalRehearsal {
  const home = stackHome(env);
  const stack = readDevContext(home);
  if (stack === undefined) {
    throw new CliError(
      ExitCode.NotFound,
      `no local stack in ${home.root}, so there is no rehearsal`,
      'start one with `jobctl dev up`, or name its state folder in JOBCTL_HOME',
    );
  }
  if (stack.rehearsal === undefined) {
    throw new CliError(
      ExitCode.Refused,
      `the local stack in ${home.root} works on ${stack.hasNoCloud ? 'own machines alone' : `REAL Cloud TPU (project ${stack.googleProject})`}, so there is no rehearsal`,
      'another state folder (JOBCTL_HOME) can have one: `jobctl dev up`',
    );
  }
  return { stack, admin: new RehearsalAdmin(stack.rehearsal.adminUrl, stack.cloud.accessTokenFile) };
}

/** A stack's endpoints as `RehearsalEndpoints`, the form in which other clients of the rehearsal take them. */
export function endpointsOf({ cloud, store, ssh, rehearsal, kubeconfig }: DevContext): RehearsalEndpoints {
  const { tpuEndpoint = '', tpuRestEndpoint = '', accessTokenFile: tokenFile = '' } = cloud;
  const { adminUrl: admin = '', headerFile = '' } = rehearsal ?? {};
  const addresses = { tpu: tpuEndpoint, rest: tpuRestEndpoint, store: store.endpoint ?? '', admin, sshPort: ssh.port };
  return { ...addresses, tokenFile, headerFile, ...(kubeconfig === undefined ? {} : { kubeconfig }) };
}

/** Responses of the rehearsal's admin interface: the fields that jobctl reads, and the lookup of slices in them. */

export interface RehearsedQueuedResource {
  /** Full name: `projects/P/locations/Z/queuedResources/Q`. */
  readonly name: string;
  readonly state: string;
  readonly chips: number;
}

export interface RehearsedNode {
  /** Full name: `projects/P/locations/Z/nodes/N`. */
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly health?: string;
  readonly acceleratorType: string;
  readonly chips: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly hosts: readonly { readonly address: string; readonly process: string }[];
}

/** A VM of Compute Engine. */
export interface RehearsedVm {
  /** Full name: `projects/P/zones/Z/instances/N`. */
  readonly name: string;
  readonly state: string;
  readonly machineType: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly address: string;
}

export interface RehearsalStatus {
  readonly journalSeq: number;
  readonly queuedResources: readonly RehearsedQueuedResource[];
  readonly nodes: readonly RehearsedNode[];
  readonly vms: readonly RehearsedVm[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly refusals: readonly Readonly<Record<string, unknown>>[];
  readonly holds: readonly Readonly<Record<string, unknown>>[];
  /** The way in which simulated VMs are confined from this computer's files; `none` if they are not. */
  readonly confinement?: string;
  readonly confinementReason?: string;
}

export interface ClockState {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly scale: number;
  readonly frozen: boolean;
}

/** The id and the zone in a resource's full name. */
export function placeOf(name: string): { readonly id: string; readonly zone: string } {
  const parts = name.split('/');
  return { id: parts.at(-1) ?? name, zone: parts[3] ?? '-' };
}

const JOB_LABEL = `${OWN_LABEL_PREFIX}job`;
const LIVE: ReadonlySet<string> = new Set(['CREATING', 'READY']);

/**
 * Finds the resource that a user means: a node or queued resource by full name or id, the live slice of a job by the job's id, or
 * in the same way a VM of Compute Engine, the first one that runs.
 * @throws CliError for any other word, and if the job has several live slices
 */
export function sliceNamed(word: string, { nodes, queuedResources, vms }: RehearsalStatus): string {
  const isName = (full: string): boolean => full === word || placeOf(full).id === word;
  if ([...nodes, ...queuedResources, ...vms].some(({ name }) => isName(name))) return word;
  const slices = liveSlicesOf(word, nodes);
  const running = vms.filter(({ labels, state }) => labels[JOB_LABEL] === word && state === 'RUNNING');
  const only = slices[0] ?? running[0]?.name;
  if (only === undefined) throw noSlice(word, [...nodes, ...vms]);
  if (slices.length <= 1) return only;
  throw new CliError(
    ExitCode.Usage,
    `job ${word} has ${slices.length} slices`,
    `say which: ${slices.map((name) => placeOf(name).id).join(', ')}`,
  );
}

/** Number of slice names that are shown after an unknown one. */
const SHOWN = 10;

function noSlice(word: string, all: readonly { readonly name: string }[]): CliError {
  const names = all.slice(0, SHOWN).map(({ name }) => placeOf(name).id);
  const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
  return new CliError(
    ExitCode.NotFound,
    `the simulated cloud has no slice '${word}', and none of a job of that name`,
    `there are: ${names.length === 0 ? 'none' : names.join(', ')}${more}`,
    asTyped(`a job that waits has no slice yet; the reason: jobctl why ${shellQuote(word)}`),
  );
}

/** Full names of a job's nodes that are being created or ready. */
export function liveSlicesOf(job: string, nodes: readonly RehearsedNode[]): readonly string[] {
  return nodes.filter(({ labels, state }) => labels[JOB_LABEL] === job && LIVE.has(state)).map(({ name }) => name);
}
