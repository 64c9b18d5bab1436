import { createSshHosts } from '../../cloud/hosts/ssh-fleet.js';
import { StoredHostKeys, type GuestHostKeys } from '../../cloud/hosts/stored-host-keys.js';
import { createOwnMachines, type OwnMachines } from '../../cloud/machines/own/own-machines.js';
import { MachineVisits, type VisitOptions } from '../../cloud/machines/own/machine-visits.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { OwnMachine } from '../../domain/machine-kinds/machines/words.js';
import { freePort } from '../temporal-server.js';
import { type OpenSshd, startOpenSshd } from './open-sshd.js';
import { startTcpCutter, type TcpCutter } from './tcp-cutter.js';
import { type KeyPair, makeKeyPair } from './ssh-host.js';

/** Machines with OpenSSH's own server, each with a home of its own, on one loopback address. */
export interface Rack {
  /** `rack-0`, `rack-1` ..; a test may change it. */
  inventory: readonly OwnMachine[];
  readonly hosts: readonly OpenSshd[];
  /** The way to each of them. */
  readonly ways: readonly TcpCutter[];
  readonly key: KeyPair;
  stop(): Promise<void>;
}

/** @param key that the machines let in */
export async function startRack(count: number, key: KeyPair = makeKeyPair()): Promise<Rack> {
  const hosts: OpenSshd[] = [];
  const ways: TcpCutter[] = [];
  for (let index = 0; index < count; index++) {
    const host = await startOpenSshd({
      authorized: key,
      address: '127.0.0.1',
      port: await freePort(),
      hasSystem: true,
    });
    hosts.push(host);
    ways.push(await startTcpCutter(host.port));
  }
  return {
    inventory: hosts.map(({ address, user, hostKey }, index) => ({
      ...{ name: `rack-${index}`, address, port: ways[index]?.port ?? 0, user, hostKey },
      accelerators: {},
      labels: {},
    })),
    ...{ hosts, ways, key },
    stop: async () => {
      for (const way of ways) await way.close();
      for (const host of hosts) await host.stop();
    },
  };
}

/** As a worker has it; each call is another worker on the same store. */
export const lookAfter = (rack: Pick<Rack, 'inventory' | 'key'>, store: StorePort): OwnMachines =>
  createOwnMachines({
    inventory: async () => rack.inventory,
    store,
    ...waysOf(rack, store),
    periods: { urgentMs: 50, quietMs: 200 },
  });

export const visitsOf = (rack: Pick<Rack, 'key'>, store: StorePort): MachineVisits =>
  new MachineVisits(waysOf(rack, store));

/** Over connections of its own, as a job's. */
export const fleetOf = (rack: Pick<Rack, 'key'>, store: StorePort): VisitOptions['fleet'] => waysOf(rack, store).fleet;

function waysOf({ key }: Pick<Rack, 'key'>, store: StorePort): VisitOptions {
  const hostKeys = new StoredHostKeys({
    store,
    guest: undefined as unknown as GuestHostKeys,
    policy: 'allow-first-use',
  });
  return { fleet: createSshHosts({ port: 1, hostKeys, connectTimeoutMs: 3_000 }), key: { privateKey: key.private } };
}

export async function rackStore(endpoint: string, bucket: string): Promise<StorePort> {
  const options = { endpoint, bucket, projectId: 'rehearsal' };
  await ensureBucket(options);
  return createStore(options);
}
