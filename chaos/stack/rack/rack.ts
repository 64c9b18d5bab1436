import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { userInfo } from 'node:os';
import { isAnswering, SSHD, sshdConfig } from '../../../test/hosts/open-sshd.js';
import { makeKeyPair } from '../../../test/hosts/ssh-host.js';
import { freePort } from '../../../test/temporal-server.js';
import { until } from '../../../test/until.js';
import { RACK_ACCELERATOR, RACK_SIZE } from '../sections.js';
import { INIT, KEEPER } from './keeper.js';

const ADDRESS = '127.0.0.1';
/** jobctl uses no machine with less than 1 GiB. */
const DISK_BYTES = 2 * 1024 ** 3;
/** jobctl takes it for the device of a TPU. */
const DEVICE = 'accel0';
/** As root plainly, else in a user namespace of one's own. */
const AS_USER = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];

export interface RackMachineParts {
  readonly name: string;
  readonly accelerators: Readonly<Record<string, number>>;
  readonly folder: string;
  readonly port: number;
  readonly hostKey: string;
}

/** A machine behind OpenSSH's own server, with a disk, a host name and, from boot to boot, processes of its own. */
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

  /** The login user's, as this computer sees it: also while the machine is off. */
  get home(): string {
    return `/proc/${this.#keeper.pid}/root${this.#folder}/home`;
  }

  get isOn(): boolean {
    return this.#init !== undefined;
  }

  /** Which claim it has, if any. */
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

  /** Its power is cut: every process of it is gone at once. */
  async off(): Promise<void> {
    this.#init = undefined;
    await this.#order('off');
  }

  /** Its system shuts down: each process is told, and it says so of itself. Power goes when it is off. */
  shutDown(): void {
    writeFileSync(join(this.#folder, 'system'), 'stopping\n');
    this.#signal('SIGTERM', (pid) => pid !== this.#init && !isSshd(pid));
  }

  /** SSH is refused, and each connection ends; what they started goes on. */
  refuseSsh(): void {
    writeFileSync(join(this.#folder, 'no-sshd'), '');
    this.#signal('SIGKILL', isSshd);
  }

  acceptSsh(): void {
    rmSync(join(this.#folder, 'no-sshd'), { force: true });
  }

  /** Nothing comes through SSH and no connection ends, while what runs goes on. */
  silence(): void {
    this.#signal('SIGSTOP', isSshd);
  }

  freeze(): void {
    this.#signal('SIGSTOP', () => true);
  }

  /** After `silence` and `freeze`. */
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

  /** Somebody's own process has the accelerator open. */
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

  /** What it says until it is done. */
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

  /** Of its namespace; none while it is off. */
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

/** The pool's own machines of a stack. */
export class Rack {
  readonly machines: readonly RackMachine[];

  private constructor(machines: readonly RackMachine[]) {
    this.machines = machines;
  }

  /** @param authorized the public key that they let in */
  static async start(directory: string, authorized: string): Promise<Rack> {
    if (!existsSync(SSHD)) throw new Error(`chaos: ${SSHD} is missing: apt-get install openssh-server`);
    const plain = Array.from({ length: RACK_SIZE.plain }, (_, index) => [`plain-${index}`, {}] as const);
    const withOne = Array.from({ length: RACK_SIZE[RACK_ACCELERATOR] }, (_, index) => {
      return [`tpu-${index}`, { [RACK_ACCELERATOR]: 1 }] as const;
    });
    const machines: RackMachine[] = [];
    for (const [name, accelerators] of [...plain, ...withOne])
      machines.push(await makeMachine(join(directory, 'rack', name), { name, accelerators, authorized }));
    await Promise.all(machines.map((machine) => machine.on()));
    return new Rack(machines);
  }

  /** The inventory of the pool. */
  get poolFile(): string {
    const tables = this.machines.map(({ name, port, hostKey, accelerators }) => {
      const [[type, count] = []] = Object.entries(accelerators);
      return [
        '[[machines]]',
        `name = "${name}"`,
        `address = "${ADDRESS}:${port}"`,
        `user = "${userInfo().username}"`,
        `host_key = "${hostKey}"`,
        ...(type === undefined ? [] : [`accelerators = { ${type} = ${count} }`]),
      ].join('\n');
    });
    return `${tables.join('\n\n')}\n`;
  }

  async end(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.end()));
  }
}

async function makeMachine(
  folder: string,
  { name, accelerators, authorized }: Pick<RackMachineParts, 'name' | 'accelerators'> & { readonly authorized: string },
): Promise<RackMachine> {
  for (const each of ['home', 'dev', 'bin']) mkdirSync(join(folder, each), { recursive: true });
  const hostKey = makeKeyPair();
  const port = await freePort();
  writeFileSync(join(folder, 'host_key'), hostKey.private, { mode: 0o600 });
  writeFileSync(join(folder, 'authorized_keys'), `${authorized.trim()}\n`);
  writeFileSync(
    join(folder, 'sshd_config'),
    sshdConfig(folder, join(folder, 'home'), { address: ADDRESS, port, hasSystem: true }),
  );
  writeFileSync(join(folder, 'bin', 'systemctl'), `#!/bin/sh\ncat '${folder}/system'\n`, { mode: 0o755 });
  writeFileSync(join(folder, 'init.sh'), INIT(folder, SSHD));
  // OpenSSH's unprivileged half lives there; a container without an init does not have it.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  return new RackMachine({
    name,
    accelerators,
    folder,
    port,
    hostKey: hostKey.public.split(' ').slice(0, 2).join(' '),
  });
}
