import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { SSHD, sshdConfig } from '../../../test/hosts/open-sshd.js';
import { makeKeyPair } from '../../../test/hosts/ssh-host.js';
import { freePort } from '../../../test/temporal-server.js';
import { RACK_ACCELERATOR, RACK_SIZE } from '../sections.js';
import { INIT } from './keeper.js';
import { ADDRESS, RackMachine, type RackMachineParts } from './machine.js';

/** The pool's own machines in a stack. */
export class Rack {
  readonly machines: readonly RackMachine[];

  private constructor(machines: readonly RackMachine[]) {
    this.machines = machines;
  }

  /** @param authorized public key of the login user */
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

  /** The inventory of the machines, as a pool file. */
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
