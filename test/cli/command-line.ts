import { AsyncLocalStorage } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { explainError } from '../../cli/terminal/explain-error.js';
import { forgetTokens } from '../../cli/place/login/server-access.js';
import { printErr, asTyped } from '../../cli/terminal/print.js';
import { runProgram } from '../../cli/program.js';
import { programArguments } from '../built.js';

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where mocha was started. */
const ROOT = process.cwd();

type Variables = Readonly<Record<string, string>>;

/** `env` stands alone beside PATH: nothing of the developer's own stack reaches jobctl. */
const environmentOf = (env: Variables): Variables => ({
  PATH: process.env['PATH'] ?? '',
  LANG: 'C.UTF-8',
  JOBCTL_HOME: '/nonexistent/jobctl',
  ...env,
});

/**
 * Runs a command line in this process, with an environment, a folder and streams of its own: no terminal, nothing to read. A claim
 * about the process itself needs `jobctlProcess`.
 */
export const jobctl = (args: readonly string[], env: Variables = {}, folder = ROOT): Promise<Ended> =>
  begun(args, env, folder).ended;

/** A command line in this process whose output is read while it goes on. */
export interface Begun {
  readonly stdout: { readonly text: string };
  readonly stderr: { readonly text: string };
  readonly ended: Promise<Ended>;
}

/** As `jobctl`. */
export function begun(args: readonly string[], env: Variables = {}, folder = ROOT): Begun {
  const [stdout, stderr] = [new Capture(), new Capture()];
  const run = async (): Promise<Ended> => {
    const leave = await enter(environmentOf(env), folder);
    try {
      const exitCode = await OWN_STREAMS.run({ stdout, stderr, stdin: Readable.from([]) }, () => exitCodeOf(args));
      return { exitCode, stdout: stdout.text, stderr: stderr.text };
    } finally {
      leave();
    }
  };
  return { stdout, stderr, ended: run() };
}

/** As main.ts does. */
async function exitCodeOf(args: readonly string[]): Promise<number> {
  try {
    return await runProgram(args);
  } catch (error) {
    const { text, exitCode } = explainError(error, process.env['JOBCTL_DEBUG'] === '1');
    printErr(`${asTyped(text)}\n`);
    return exitCode;
  }
}

class Capture extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

type Streams = Readonly<Record<'stdin' | 'stdout' | 'stderr', Readable | Writable>>;
const OWN_STREAMS = new AsyncLocalStorage<Streams>();
for (const name of ['stdin', 'stdout', 'stderr'] as const) {
  // Read late: Node opens the real one at its first use.
  const own = Object.getOwnPropertyDescriptor(process, name);
  const get = (): unknown => OWN_STREAMS.getStore()?.[name] ?? own?.value ?? own?.get?.call(process);
  Object.defineProperty(process, name, { get, configurable: true, enumerable: true });
}

/** Environment, folder and signals belong to the process: command lines with the same run side by side, any other waits for their end. */
const inside = {
  ...{ place: '', count: 0, before: {} as NodeJS.ProcessEnv, listeners: listeners() },
  ...{ ends: Promise.resolve(), end: () => {} },
};

function listeners(): readonly (readonly [NodeJS.Signals, NodeJS.SignalsListener])[] {
  return (['SIGINT', 'SIGTERM'] as const).flatMap((name) =>
    process.rawListeners(name).map((listener) => [name, listener as NodeJS.SignalsListener] as const),
  );
}

async function enter(env: Variables, folder: string): Promise<() => void> {
  const place = JSON.stringify([env, folder]);
  while (inside.count > 0 && inside.place !== place) await inside.ends;
  if (inside.count === 0) {
    Object.assign(inside, { place, before: { ...process.env } });
    inside.ends = new Promise((resolve) => (inside.end = resolve));
    inside.listeners = listeners();
    setEnvironment(env);
    process.chdir(folder);
    forgetTokens();
  }
  inside.count++;
  return () => {
    if (--inside.count > 0) return;
    // Else Node follows each promise that the process makes from here on.
    OWN_STREAMS.disable();
    setEnvironment(inside.before);
    process.chdir(ROOT);
    const known = new Set(inside.listeners.map(([, listener]) => listener));
    for (const [name, listener] of listeners()) if (!known.has(listener)) process.off(name, listener);
    inside.end();
  };
}

/** Changes the variables of the process one by one: another object in place of `process.env` is not what `os.homedir` reads. */
export function setEnvironment(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (variables[name] === undefined) delete process.env[name];
  Object.assign(process.env, variables);
}

/** A real process, for what only one shows: the exit code that a shell sees, a closed pipe, two command lines at once. */
export function jobctlProcess(args: readonly string[], env: Variables = {}): Promise<Ended> {
  const child = spawn(process.execPath, [...programArguments('cli/main'), ...args], {
    env: environmentOf(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) =>
      resolve({ exitCode, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() }),
    );
  });
}

/** The same in this process, for command lines that are refused: what main.ts would print, and exit with. */
export async function refusalOf(
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly text: string }> {
  try {
    return { exitCode: await runProgram(args), text: '' };
  } catch (error) {
    return explainError(error, false);
  }
}
