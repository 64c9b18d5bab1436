import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { isAnswering } from '../../../test/hosts/open-sshd.js';
import { until } from '../../../test/until.js';
import { KEEPER } from './keeper.js';

export const ADDRESS = '127.0.0.1';
/** jobctl uses no machine with less than 1 GiB. */
const DISK_BYTES = 2 * 1024 ** 3;
/** jobctl takes a device of this name for a TPU. */
const DEVICE = 'accel0';
/** root needs no user namespace; any other user makes one. */
const AS_USER = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];

export interface RackMachineParts {
  readonly name: string;
  readonly accelerators: Readonly<Record<string, number>>;
  readonly folder: string;
  readonly port: number;
  readonly hostKey: string;
}

/** A machine behind OpenSSH's own server. Its disk and host name last; its processes live from one boot to the next. */
export class RackMachine {
  readonly name: string;
  readonly accelerators: Readonly<Record<string, number>>;
  readonly port: number;
  readonly hostKey: string;
  readonly #folder: string;
  readonly #keeper: ChildProcess;
  readonly #answers: Interface;
  #init: number | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ name, accelerators, folder, port, hostKey }: RackMachineParts) {
    this.name = name;
    this.accelerators = accelerators;
    this.#folder = folder;
    this.port = port;
    this.hostKey = hostKey;
    const devices = Object.keys(accelerators).length === 0 ? [] : [DEVICE];
    const words = [...AS_USER, '--mount', '--uts', 'bash', '-c', KEEPER, 'keeper', name, folder, String(DISK_BYTES)];
    this.#keeper = spawn('unshare', [...words, ...devices], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#answers = createInterface({ input: this.#keeper.stdout as NodeJS.ReadableStream });
    this.#last = this.#answer();
  }

  /** Home of the login user, as this computer sees it, also while the machine is off. */
  get home(): string {
    return `/proc/${this.#keeper.pid}/root${this.#folder}/home`;
  }

  get isOn(): boolean {
    return this.#init !== undefined;
  }

  /** The current claim on the machine, if any. */
  get claim(): string | undefined {
    try {
      return readFileSync(join(this.home, '.jobctl/machine/claim'), 'utf8').split('\n')[0];
    } catch {
      return undefined;
    }
  }

  /** Boots, unless it is on. */
  async on(): Promise<void> {
    if (this.isOn) return;
    await this.#order('on');
    await until(`${this.name} answers`, async () => {
      this.#init = Number((await this.#order('init'))[0]) || undefined;
      return this.#init !== undefined && (await isAnswering(ADDRESS, this.port));
    });
  }

  /** Cuts the power: every process is gone at once. */
  async off(): Promise<void> {
    this.#init = undefined;
    await this.#order('off');
  }

  /** Begins a shutdown: each process gets SIGTERM, and the system says that it is stopping. `off` then cuts the power. */
  shutDown(): void {
    writeFileSync(join(this.#folder, 'system'), 'stopping\n');
    this.#signal('SIGTERM', (pid) => pid !== this.#init && !isSshd(pid));
  }

  /** Refuses SSH, and ends each connection. Commands that were started go on. */
  refuseSsh(): void {
    writeFileSync(join(this.#folder, 'no-sshd'), '');
    this.#signal('SIGKILL', isSshd);
  }

  acceptSsh(): void {
    rmSync(join(this.#folder, 'no-sshd'), { force: true });
  }

  /** Silences SSH: nothing comes through and no connection ends. Commands go on. */
  silence(): void {
    this.#signal('SIGSTOP', isSshd);
  }

  freeze(): void {
    this.#signal('SIGSTOP', () => true);
  }

  /** Ends `silence` or `freeze`. */
  thaw(): void {
    this.#signal('SIGCONT', () => true);
  }

  killProcesses(): void {
    this.#signal('SIGKILL', (pid) => pid !== this.#init && !isSshd(pid));
  }

  async fillDisk(): Promise<void> {
    await this.#order('full');
  }

  async freeDisk(): Promise<void> {
    await this.#order('free');
  }

  /** Lets another process keep the accelerator open. */
  async occupy(ms: number): Promise<void> {
    await this.#order(`use /dev/${DEVICE} ${ms / 1000}`);
  }

  async end(): Promise<void> {
    const { exitCode, signalCode } = this.#keeper;
    if (exitCode !== null || signalCode !== null) return;
    const ended = new Promise((resolve) => this.#keeper.once('exit', resolve));
    this.#keeper.stdin?.end();
    await ended;
  }

  #order(text: string): Promise<readonly string[]> {
    const answer = this.#last.then(() => {
      this.#keeper.stdin?.write(`${text}\n`);
      return this.#answer();
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  /** Lines of the machine's answer, up to `done`. */
  #answer(): Promise<readonly string[]> {
    const lines: string[] = [];
    return new Promise((resolve, reject) => {
      const gone = (): void => reject(new Error(`the machine ${this.name} of chaos ended by itself`));
      const hear = (line: string): void => {
        if (line !== 'done') return void lines.push(line);
        this.#answers.off('line', hear).off('close', gone);
        resolve(lines);
      };
      this.#answers.on('line', hear).once('close', gone);
    });
  }

  #signal(signal: NodeJS.Signals, isMeant: (pid: number) => boolean): void {
    for (const pid of this.#pids().filter(isMeant)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has just ended by itself.
      }
    }
  }

  /** Processes of the machine's namespace; none while it is off. */
  #pids(): readonly number[] {
    const own = this.#init === undefined ? undefined : namespaceOf(this.#init);
    if (own === undefined) return [];
    const all = readdirSync('/proc').filter((name) => /^\d+$/u.test(name));
    return all.map(Number).filter((pid) => namespaceOf(pid) === own);
  }
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function isSshd(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('sshd');
  } catch {
    return false;
  }
}
