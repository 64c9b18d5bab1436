import { spawn } from 'node:child_process';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';

export interface ToolEnd {
  /** Undefined: it could not be started, or a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** The last lines of both streams, for an error. */
  readonly tail: readonly string[];
}

interface RunOptions {
  /** Whether its output is shown as it comes; a person waits for it. */
  readonly isShown?: true;
}

const TAIL_LINES = 15;

/**
 * Runs a program to its end. It ends with jobctl: a signal is passed on to it and to what it started.
 * @throws CliError if a signal ended it
 */
export async function runTool(words: readonly string[], { isShown }: RunOptions = {}): Promise<ToolEnd> {
  const [program = '', ...args] = words;
  // A group of its own: what the program started ends with it.
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: toolEnv(), detached: true });
  let [stdout, said, isInterrupted] = ['', '', false];
  const note = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-20_000);
    if (isShown === true) process.stderr.write(chunk);
  };
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    note(chunk);
  });
  child.stderr.on('data', note);
  const stop = (): void => {
    isInterrupted = true;
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
  };
  for (const name of SIGNALS) process.on(name, stop);
  try {
    const code = await new Promise<number | undefined>((done) => {
      child.once('error', (error: NodeJS.ErrnoException) => {
        said += error.code === 'ENOENT' ? 'not installed' : error.message;
        done(undefined);
      });
      child.once('close', (ended) => done(ended ?? undefined));
    });
    if (isInterrupted) throw new CliError(ExitCode.Interrupted, `${program} was interrupted: nothing was submitted`);
    return { code, stdout, tail: said.split(/\r?\n/).filter(Boolean).slice(-TAIL_LINES) };
  } finally {
    for (const name of SIGNALS) process.off(name, stop);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Its provenance would make an index of the image, whose digest is another one. */
const toolEnv = (): NodeJS.ProcessEnv => ({ ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: '1' });
