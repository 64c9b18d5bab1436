import type { NodeRecord } from './tpu/model.js';

/** A machine of the user's own, as a VM: it is there as long as the rehearsal, and no API creates or deletes it. */
export interface RehearsedMachine {
  /** Name of the machine, and its host name. */
  readonly name: string;
  /** Login user. */
  readonly user: string;
  /** In the subnet of the VMs, but never given to a VM: 127.S.a.255. */
  readonly address: string;
}

/** `NAME=USER@ADDRESS`, or undefined for another text. */
export function parseMachine(text: string): RehearsedMachine | undefined {
  const [, name, user, address] = /^([a-z][a-z0-9-]*)=([a-z_][a-z0-9_-]*)@(127\.\d+\.\d+\.255)$/.exec(text) ?? [];
  return name && user && address ? { name, user, address } : undefined;
}

/**
 * The machines in the form that the fleet runs: each is like a node with one host and no TPU.
 * @param key OpenSSH public key of the user who may log in
 */
export function machineNodes(machines: readonly RehearsedMachine[], key: string): readonly NodeRecord[] {
  return machines.map(({ name, user, address }, index) => ({
    resource: {
      name: `projects/rehearsal/zones/local/machines/${name}`,
      // Nodes have random 63-bit ids.
      id: String(index + 1),
      state: 'READY',
      acceleratorType: '',
      health: 'HEALTHY',
      networkEndpoints: [],
      machineType: 'local',
      metadata: { 'ssh-keys': `${user}:${key.trim()}`, 'block-project-ssh-keys': 'true' },
    },
    chips: 0,
    tier: 'on-demand',
    hosts: [{ address, hostname: name }],
    isBooted: true,
    isReclaimed: false,
    operations: [],
  }));
}
