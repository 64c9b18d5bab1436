import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DevContext } from '../../cli/place/stack/context.js';
import { jobctl } from '../cli/command-line.js';
import { onTerminal } from './on-terminal.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import type { TestStack } from './test-stack.js';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

/** Where a test's stack is, for the command line. */
export const cliEnvironment = (stack: TestStack): Readonly<Record<string, string>> => ({
  TEMPORAL_ADDRESS: stack.server.address,
  TEMPORAL_NAMESPACE: stack.server.namespace,
  JOBCTL_TASK_QUEUE: stack.taskQueue,
  JOBCTL_BUCKET: stack.store.bucket,
  JOBCTL_STORE_ENDPOINT: stack.rehearsal.endpoints.store,
});

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly finished: Promise<Finished>;
  readonly stdout: () => string;
  readonly stderr: () => string;
  kill(signal: NodeJS.Signals): void;
}

/** A user of the built command line, with a state folder of his own. */
export class JobctlUser {
  readonly home = mkdtempSync(join(tmpdir(), 'jobctl-user-'));
  readonly #env: NodeJS.ProcessEnv;

  /** @param env beside what this process has */
  constructor(env: Readonly<Record<string, string>> = {}) {
    this.#env = { ...process.env, JOBCTL_HOME: this.home, ...env };
  }

  /** Of a test's stack. @param env beside where the stack is */
  static of(stack: TestStack, env: Readonly<Record<string, string>> = {}): JobctlUser {
    return new JobctlUser({
      ...cliEnvironment(stack),
      JOBCTL_SSH_PORT: String(stack.rehearsal.endpoints.sshPort),
      LANG: 'C.UTF-8',
      ...env,
    });
  }

  start(...args: string[]): Started {
    return this.#start(process.execPath, [MAIN, ...args]);
  }

  /** A line of bash in which `$JOBCTL` is the command. */
  shell(line: string): Started {
    return this.#start('bash', ['-c', line]);
  }

  #start(program: string, args: readonly string[]): Started {
    const child = spawn(program, args, {
      env: { ...this.#env, JOBCTL: `${process.execPath} ${MAIN}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const finished = new Promise<Finished>((resolve) =>
      child.once('close', (code) => resolve({ code, stdout, stderr })),
    );
    return { finished, stdout: () => stdout, stderr: () => stderr, kill: (signal) => void child.kill(signal) };
  }

  run(...args: string[]): Promise<Finished> {
    return this.start(...args).finished;
  }

  /** As `run`, in this process and of the sources: a process takes most of a second of a processor to begin. */
  async here(...args: string[]): Promise<Finished> {
    const { exitCode, ...printed } = await jobctl(args, this.#env as Readonly<Record<string, string>>);
    return { code: exitCode, ...printed };
  }

  /**
   * On a terminal so many columns wide, without colours.
   * @param keys what is typed at the first question
   */
  onTerminal(columns: number, args: readonly string[], keys = ''): Promise<{ code: number | null; text: string }> {
    return onTerminal([process.execPath, MAIN, ...args], {
      columns,
      env: { ...this.#env, NO_COLOR: '1' },
      keys,
    });
  }

  /** Pid of a part of the local stack, from its own record. */
  pid(part: 'server' | 'rehearsal' | 'worker'): number {
    const record = JSON.parse(readFileSync(join(this.home, 'stack.json'), 'utf8')) as {
      parts: Record<string, { identity: { pid: number } }>;
    };
    return record.parts[part]?.identity.pid as number;
  }

  /** Of the local stack's rehearsal. */
  admin(): RehearsalAdmin {
    const { rehearsal, cloud } = JSON.parse(readFileSync(join(this.home, 'context.json'), 'utf8')) as DevContext;
    return new RehearsalAdmin(rehearsal?.adminUrl ?? '', cloud.accessTokenFile);
  }

  async leave(): Promise<void> {
    await this.run('dev', 'down');
    rmSync(this.home, { recursive: true, force: true });
  }
}
