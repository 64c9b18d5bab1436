import { join } from 'node:path';
import type { Confinement } from '../vm/confinement.js';
import type { Vm, VmPlan } from '../vm/index.js';
import { startVm } from '../vm/index.js';
import type { Scratch, UserKey } from './scratch.js';
import { makeUserKey, scratchFolder, SUBNET_OCTET } from './scratch.js';
import type { SshPlace, SshResult } from './ssh-client.js';
import { ssh } from './ssh-client.js';

const PORT = 2222;

/** VMs without a cloud, of which alice and bob may enter each. */
export class VmsUnderTest {
  readonly scratch: Scratch = scratchFolder('vms');
  readonly key: UserKey = makeUserKey(this.scratch.path);
  readonly events: { readonly kind: string; readonly details: Readonly<Record<string, unknown>> }[] = [];
  readonly #vms: Vm[] = [];
  readonly #subnet: number;

  /** @param subnet 201 to 254: another for each test file. */
  constructor(subnet: number) {
    this.#subnet = subnet;
  }

  async boot(index: number, more: Partial<VmPlan> = {}): Promise<Vm> {
    const vm = await startVm({
      dir: this.folder(index),
      address: this.address(index),
      sshPort: PORT,
      hostname: `t1v-n-test-w-${index}`,
      authorizedKeys: `alice:${this.key.publicKey}\nbob:${this.key.publicKey}`,
      slice: [0, 1].map((other) => ({ hostname: `t1v-n-test-w-${other}`, address: this.address(other) })),
      record: (kind, details) => void this.events.push({ kind, details }),
      ...more,
    });
    this.#vms.push(vm);
    return vm;
  }

  folder(index: number): string {
    return join(this.scratch.path, `vm-${index}`);
  }

  address(index: number): string {
    return `127.${SUBNET_OCTET}.${this.#subnet}.${index + 1}`;
  }

  place(index: number, user = 'alice'): SshPlace {
    return { address: this.address(index), port: PORT, key: this.key, user };
  }

  /** Runs a command there, to its end. */
  run(index: number, command: string, user = 'alice'): Promise<SshResult> {
    return ssh(this.place(index, user), command);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#vms.map((vm) => vm.kill()));
    this.scratch.remove();
  }
}

/** Confinements that this computer can have, the best first; a test forces each. */
export function confinementsFrom(best: Confinement): readonly ('overlay' | 'read-only')[] {
  if (best === 'overlay') return ['overlay', 'read-only'];
  return best === 'read-only' ? ['read-only'] : [];
}
