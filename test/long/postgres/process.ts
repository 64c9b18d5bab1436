import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, closeSync, readFileSync, readdirSync } from 'node:fs';

export interface StartOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  /** As this user; root alone can be somebody else. */
  readonly uid?: number;
  readonly gid?: number;
}

/** A process in the background, with its log in a file. It ends with us at the latest. */
export class BackgroundProcess {
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #ended: Promise<void>;

  private constructor(child: ChildProcess, logFile: string) {
    this.#child = child;
    this.#logFile = logFile;
    const killOnExit = (): void => void child.kill('SIGKILL');
    process.once('exit', killOnExit);
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        process.removeListener('exit', killOnExit);
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
  }

  static start(command: string, args: readonly string[], { logFile, ...options }: StartOptions): BackgroundProcess {
    const log = openSync(logFile, 'a');
    try {
      const child = spawn(command, args, { ...options, stdio: ['ignore', log, log] });
      // A test process that forgot it may end all the same.
      child.unref();
      return new BackgroundProcess(child, logFile);
    } finally {
      closeSync(log);
    }
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get isRunning(): boolean {
    return this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** kill -9, to it and to the processes that it had started itself; returns when it is gone. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const children = childrenOf(this.pid);
    this.#child.ref();
    this.#child.kill('SIGKILL');
    for (const pid of children) sendKill(pid);
    await this.#ended;
  }

  /** `signal`, and SIGKILL after the grace. */
  async stop(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    if (!this.isRunning) return;
    this.#child.ref();
    this.#child.kill(signal);
    const timer = setTimeout(() => void this.kill(), graceMs);
    await this.#ended;
    clearTimeout(timer);
  }

  /** The end of its log, for a failure's message. */
  tail(lines = 20): string {
    return readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }
}

/** PostgreSQL's own processes are sessions of their own: a signal to a group would miss them. */
function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === parent);
}

/** Field 4 of /proc/PID/stat, proc(5); the name before it may hold anything. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined;
  }
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
