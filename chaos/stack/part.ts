import { type ChildProcess, spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import type { ProcessLife } from '../oracle/evidence.js';

/** One process of a private stack. chaos may end it and start it again, with the same arguments, ports and files. */
export class Part {
  readonly name: string;
  readonly #command: readonly string[];
  readonly #logFile: string;
  readonly #isReady: () => Promise<boolean>;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  readonly #lives: ProcessLife[] = [];

  constructor(parts: {
    readonly name: string;
    readonly command: readonly string[];
    readonly logFile: string;
    readonly env: NodeJS.ProcessEnv;
    readonly isReady: () => Promise<boolean>;
  }) {
    this.name = parts.name;
    this.#command = parts.command;
    this.#logFile = parts.logFile;
    this.#env = parts.env;
    this.#isReady = parts.isReady;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Undefined if it does not run. */
  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined;
  }

  /** All starts and ends of the process so far. */
  get lives(): readonly ProcessLife[] {
    return [...this.#lives];
  }

  /** Has no effect if the process runs. */
  spawn(): void {
    if (this.isRunning) return;
    const life = { process: this.name, startedAt: Date.now() };
    const number = this.#lives.push(life) - 1;
    const [program = '', ...args] = this.#command;
    const log = openSync(this.#logFile, 'a');
    const child = spawn(program, args, { env: this.#env, stdio: ['ignore', log, log] });
    this.#child = child;
    endWithThisProcess(child);
    child.once('exit', (code, signal) => {
      this.#lives[number] = { ...life, endedAt: Date.now(), how: signal ?? `exit code ${code}` };
    });
  }

  isReady(): Promise<boolean> {
    return this.#isReady().catch(() => false);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Resolves when the process is gone. Sends SIGKILL after 20 s. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await ended;
    clearTimeout(timer);
  }
}

const running = new Set<ChildProcess>();

/** One exit listener serves all children: a run has many, side by side and one after the other. */
function endWithThisProcess(child: ChildProcess): void {
  if (running.size === 0) process.on('exit', endAll);
  running.add(child);
  child.once('exit', () => {
    running.delete(child);
    if (running.size === 0) process.removeListener('exit', endAll);
  });
}

function endAll(): void {
  for (const child of running) {
    // SIGTERM lets the rehearsal end its VMs. SIGCONT is for a rehearsal that chaos has stopped.
    child.kill('SIGTERM');
    child.kill('SIGCONT');
  }
}
