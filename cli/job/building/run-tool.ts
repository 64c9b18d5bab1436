import { spawn } from 'node:child_process';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

export interface ToolEnd {
  /** Exit code. Undefined: the program could not be started, or a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  /** The last lines of both streams, for an error. */
  readonly tail: readonly string[];
}

interface RunOptions {
  /** True shows its output as it comes, because a person waits for it. */
  readonly isShown?: true;
}

const TAIL_LINES = 15;

/**
 * Runs a program to its end. A signal to jobctl is passed on to the program and its child processes.
 * @throws CliError if a signal ended it
 */
export async function runTool(words: readonly string[], { isShown }: RunOptions = {}): Promise<ToolEnd> {
  const [program = '', ...args] = words;
  // A separate process group, so that child processes of the program end with it.
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

/** Disables provenance, which would turn the image into an index with another digest. */
const toolEnv = (): NodeJS.ProcessEnv => ({ ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: '1' });
