import { readFileSync } from 'node:fs';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { HostKeyPins } from '../../cloud/hosts/host-key-record.js';
import type { HostConnection, HostsPort, HostTarget } from '../../cloud/hosts/port.js';
import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { type FanoutHost, knownKeys } from './inventory.js';
import { checkOutput, type Work } from './work.js';

/** jobctl's own connections to the hosts of an inventory. Host keys are checked against the known_hosts files. */
export interface JobctlFleet {
  connect(): Promise<readonly HostConnection[]>;
  release(): void;
}

const never = new AbortController().signal;

/** Data that a worker has before it connects: login keys, and the hosts' public keys. */
export interface Logins {
  readonly hosts: readonly FanoutHost[];
  readonly hostKeys: HostKeyPins;
  /** Private keys, by file. */
  readonly keys: ReadonlyMap<string, string>;
}

export async function readLogins(hosts: readonly FanoutHost[]): Promise<Logins> {
  const known = await Promise.all(hosts.map(async (host, index) => [index, await knownKeys(host)] as const));
  const keys = new Map(hosts.map(({ keyFile }) => [keyFile, readFileSync(keyFile, 'utf8')]));
  return { hosts, hostKeys: pinsOf(new Map(known)), keys };
}

export function openFleet({ hosts, hostKeys, keys }: Logins): JobctlFleet {
  const fleets = new Map<number, HostsPort>();
  const plans = hosts.map(({ host, port, user, keyFile }, index) => {
    const fleet = fleets.get(port) ?? createSshHosts({ port, hostKeys, maxConnecting: 256 });
    fleets.set(port, fleet);
    const target: HostTarget = { reach: 'ssh', uid: host, slice: 0, index, address: host, user };
    return { fleet, target, key: { privateKey: keys.get(keyFile) ?? '' } };
  });
  return {
    connect: () => Promise.all(plans.map(({ fleet, target, key }) => fleet.connect(target, key, never))),
    release: () => fleets.forEach((fleet) => fleet.release()),
  };
}

function pinsOf(keys: ReadonlyMap<number, readonly string[]>): HostKeyPins {
  return {
    expected: async ({ index }) => {
      const publicKeys = keys.get(index) ?? [];
      const record = { publicKey: publicKeys[0] ?? '', source: 'first-use', at: 0 } as const;
      return { publicKeys, source: 'first-use', record };
    },
    pin: async (_target, publicKey, source) => ({ publicKey, source, at: 0 }),
    isReplaced: async () => false,
    placeOf: () => 'the known_hosts file',
  };
}

/** Runs all steps as one script over one channel of each host. */
export async function execEverywhere(connections: readonly HostConnection[], work: Work): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      let out = '';
      const streams = { onStdout: (chunk: Buffer) => void (out += chunk.toString()), onStderr: () => undefined };
      const { code } = await connection.exec(work.script, { ...streams, signal: never });
      if (code !== 0) throw new Error(`exec: ${connection.target.uid} ended with ${code}`);
      checkOutput('exec', connection.target.uid, out, work);
    }),
  );
}

/** A module with these steps. Each step's exit code and output are reported, and the host remembers that the module is done. */
export const modulePlan = (work: Work, round: number): ModulePlan => ({
  name: 'bench',
  fingerprint: `round-${round}`,
  check: 'true',
  steps: work.steps.map((script, step) => ({ name: `step ${step + 1}`, script })),
});

export async function makeReady(connections: readonly HostConnection[], plan: ModulePlan, work: Work): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      let out = '';
      let ended = 0;
      const listener = {
        onOutput: (_module: string, chunk: Buffer) => void (out += chunk.toString()),
        onStep: ({ code }: { readonly code?: number }) => void (ended += code === 0 ? 1 : 0),
      };
      const [outcome] = await connection.applyModules([plan], listener, never);
      if (outcome?.kind !== 'done' || ended !== work.steps.length)
        throw new Error(`module: ${connection.target.uid}: ${JSON.stringify(outcome)}, ${ended} steps ended`);
      checkOutput('module', connection.target.uid, out, work);
    }),
  );
}

/** @throws Error if a module was not unchanged on every host */
export async function findReady(connections: readonly HostConnection[], plans: readonly ModulePlan[]): Promise<void> {
  await Promise.all(
    connections.map(async (connection) => {
      const outcomes = await connection.applyModules(plans, { onOutput: () => undefined }, never);
      if (outcomes.length !== plans.length || outcomes.some(({ kind }) => kind !== 'unchanged'))
        throw new Error(`unchanged: ${connection.target.uid}: ${JSON.stringify(outcomes)}`);
    }),
  );
}
