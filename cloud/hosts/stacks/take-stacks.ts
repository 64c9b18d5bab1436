import { gunzipSync } from 'node:zlib';
import { shellWords } from '../../../domain/shell-quote.js';
import {
  type Frame,
  frameOf,
  type HostStacks,
  isPython,
  MOST_PROCESSES,
  problemOf,
  type ProcessStacks,
  processOf,
  threadOf,
  type ThreadStack,
} from '../../../domain/stacks/stack.js';
import { answerWithin } from '../../abort.js';
import type { HostConnection, PySpySource, StacksRequest } from '../port.js';
import { HOST_PROGRAM } from './host-program.js';
import { pySpyPath } from './py-spy.js';

/** Limit of bytes from one host. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Limits for the JSON of one process and of all. */
const MOST_JSON_BYTES = 4 * 1024 * 1024;
const MOST_ALL_JSON_BYTES = 16 * 1024 * 1024;
const MOST_WORDS = 4096;

/**
 * Reads the stacks of a run's processes without stopping or changing them (docs/adr/0127).
 * @throws HostUnreachable, and errors of `exec`; Error if the host does not answer in time; the signal's reason
 */
export async function takeStacks(connection: HostConnection, options: StacksRequest): Promise<HostStacks> {
  const { answerMs, installMs, signal } = options;
  const { wants, ...first } = await answerWithin(answerMs, (late) => ask(connection, options, 0, late));
  if (wants === undefined) return first;
  if (options.pySpy === undefined) return withoutPySpy(first, 'its host has no py-spy');
  try {
    return await answerWithin(installMs, (late) => askWithPySpy(connection, wants, options, late));
  } catch (error) {
    signal.throwIfAborted();
    return withoutPySpy(first, `its host has no py-spy, and could not be given one: ${(error as Error).message}`);
  }
}

/** The host gets py-spy from PyPI itself, or else from this process, which may have the internet if the host has not. */
async function askWithPySpy(
  connection: HostConnection,
  machine: string,
  options: StacksRequest,
  late: AbortSignal,
): Promise<HostStacks> {
  const { wants, ...fetched } = await ask(connection, options, Math.ceil(options.installMs / 3000), late);
  if (wants === undefined) return fetched;
  const program = await (options.pySpy as PySpySource)(machine);
  const signal = AbortSignal.any([options.signal, late]);
  await connection.putFile(program, pySpyPath(machine), { mode: 0o755, signal });
  const { wants: still, ...given } = await ask(connection, options, 0, late);
  return still === undefined ? given : withoutPySpy(given, 'the py-spy that its host was given cannot be run there');
}

type Answer = HostStacks & { readonly wants?: string };

async function ask(
  connection: HostConnection,
  { host, runId, answerMs, signal }: StacksRequest,
  fetchSeconds: number,
  late: AbortSignal,
): Promise<Answer> {
  const said = new Said();
  const enough = new AbortController();
  // The rest of the time is for the connection, and for the processes whose examination began last.
  const words = shellWords([runId, String(Math.floor(answerMs / 2)), String(fetchSeconds)]);
  try {
    const { code } = await connection.exec(`exec /bin/sh -s -- ${words}`, {
      stdin: Buffer.from(HOST_PROGRAM),
      onStdout: (chunk) => {
        if (!said.hear(chunk)) enough.abort(new Error('it said too much'));
      },
      onStderr: (chunk) => said.mind(chunk),
      signal: AbortSignal.any([signal, late, enough.signal]),
    });
    return readAnswer(host, said.text, code === 0 ? undefined : said.words(code));
  } catch (error) {
    if (!enough.signal.aborted) throw error;
    return readAnswer(host, said.text, `it said more than ${MOST_BYTES / 1024 / 1024} MiB`);
  }
}

const withoutPySpy = (stacks: HostStacks, why: string): HostStacks => ({
  ...stacks,
  processes: stacks.processes.map((process) =>
    isPython(process) && process.threads === undefined ? processOf({ ...process, problem: why }) : process,
  ),
});

/** The output of a host, up to the limits. */
class Said {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #errors = '';

  /** @returns whether more output is wanted */
  hear(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) return false;
    this.#chunks.push(chunk);
    return true;
  }

  mind(chunk: Buffer): void {
    if (this.#errors.length < MOST_WORDS) this.#errors += chunk.toString().slice(0, MOST_WORDS);
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('latin1');
  }

  words(code: number | undefined): string {
    const said = /jobctl-runner-error: (.*)/.exec(this.#errors)?.[1] ?? this.#errors.trim().slice(-300);
    return `the look at its processes ended with ${code === undefined ? 'a signal' : `code ${code}`}${said && `: ${said}`}`;
  }
}

const MARK = 'jobctl-runner: ';

/** Checks a host's output, which may contain anything. @param failure the failure of its program, if any */
export function readAnswer(host: number, text: string, failure?: string): Answer {
  const processes: ProcessStacks[] = [];
  const problems: string[] = failure === undefined ? [] : [failure];
  let wants: string | undefined;
  let isDone = false;
  let room = MOST_ALL_JSON_BYTES;
  for (const line of text.split('\n')) {
    if (!line.startsWith(MARK)) continue;
    const [word = '', ...rest] = line.slice(MARK.length).split(' ');
    const last = processes.at(-1);
    const isOpen = last !== undefined && !isPython(last);
    if (word === 'process' && processes.length < MOST_PROCESSES) {
      const process = readProcess(rest);
      if (process !== undefined) processes.push(process);
    } else if (word === 'dump' && isOpen) {
      const json = unzipped(rest[0] ?? '', Math.min(room, MOST_JSON_BYTES));
      // Unreadable data counts against the limit too.
      room -= json?.length ?? Math.min(room, MOST_JSON_BYTES);
      processes[processes.length - 1] = withDump(last, json);
    } else if (word === 'failed' && isOpen)
      processes[processes.length - 1] = processOf({ ...last, problem: whyFailed(decoded(rest[0] ?? '')) });
    else if (word === 'wants' && /^[\w-]{1,32}$/.test(rest[0] ?? '')) wants = rest[0];
    else if (word === 'no') problems.push('it knows nothing of a command of this attempt under its login user');
    else if (word === 'more')
      problems.push(`it has more than ${MOST_PROCESSES} processes: those with the smallest ids are shown`);
    else if (word === 'late') problems.push('its time was over before all processes were looked at');
    else if (word === 'done') isDone = true;
  }
  if (problems.length === 0 && !isDone) problems.push('it broke off in the middle');
  return {
    ...{ host, processes },
    ...(problems.length > 0 && { problem: problemOf(problems.join('; ')) }),
    ...(wants !== undefined && { wants }),
  };
}

function readProcess([pid = '', state = '', rank = '', waitsIn = '', name = '']: readonly string[]):
  | ProcessStacks
  | undefined {
  if (!/^\d{1,9}$/.test(pid)) return undefined;
  return processOf({
    pid: Number(pid),
    name: name === '-' ? '' : decoded(name),
    state,
    ...(waitsIn !== '-' && { waitsIn }),
    ...(/^\d{1,6}$/.test(rank) && { localRank: Number(rank) }),
  });
}

const decoded = (base64: string): string => Buffer.from(base64.slice(0, MOST_WORDS), 'base64').toString();

/** Adds the remedy if the cause is known. */
function whyFailed(said: string): string {
  const words = said.replace(/^Error: /, '');
  if (!/permission denied|not permitted/i.test(words)) return words || 'py-spy says nothing';
  return (
    'py-spy may not look at it: run the command as the login user, give that user sudo without a password, or set ' +
    'kernel.yama.ptrace_scope=0 on the host; a pod or container needs the capability SYS_PTRACE'
  );
}

/** Undefined if it is not gzip, or exceeds the limit. */
function unzipped(base64: string, most: number): Buffer | undefined {
  try {
    return gunzipSync(Buffer.from(base64, 'base64'), { maxOutputLength: most });
  } catch {
    return undefined;
  }
}

function withDump(process: ProcessStacks, json: Buffer | undefined): ProcessStacks {
  try {
    return processOf({ ...process, threads: threadsOf(JSON.parse(json?.toString() ?? ''), process.pid) });
  } catch {
    return processOf({ ...process, problem: 'what py-spy says of it cannot be read, or is too long' });
  }
}

/** Reads `py-spy dump --json`: the main thread first, then the others in order. @throws TypeError if it is something else */
function threadsOf(json: unknown, pid: number): readonly ThreadStack[] {
  if (!Array.isArray(json)) throw new TypeError('no list of threads');
  const threads = json.filter(isRecord).map((thread) => ({
    isFirst: thread['os_thread_id'] === pid,
    isNamedMain: thread['thread_name'] === 'MainThread',
    stack: threadOf(text(thread['thread_name']), list(thread['frames']).filter(isRecord).map(frame)),
  }));
  const main =
    threads.find(({ isFirst }) => isFirst) ?? threads.find(({ isNamedMain }) => isNamedMain) ?? threads.at(-1);
  return [...(main ? [main] : []), ...threads.filter((thread) => thread !== main)].map(({ stack }) => stack);
}

type Rec = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Rec => typeof value === 'object' && value !== null;
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const frame = (said: Rec): Frame =>
  frameOf(text(said['name']), text(said['filename']), typeof said['line'] === 'number' ? said['line'] : 0);
