import { z } from 'zod';
import { hostKeyObject, hostKeysPrefix } from '../../domain/store-layout.js';
import type { EpochMs } from '../../domain/units.js';
import { objectPlace, type StoreReader } from '../store/port.js';
import { LOGIN_USER } from './reaches.js';
import { fingerprintOf } from './ssh-key.js';
import type { SshTarget } from './port.js';

/** The host key that a VM must show, its source, and the user whom the VM lets in. */
export interface HostKeyRecord {
  /** `ssh-ed25519 AAAA..`, as in a known_hosts file. */
  readonly publicKey: string;
  /**
   * `first-use`: the host showed it at the first connection. `guest-attributes`: Google's API names it. `inventory`: the pool
   * file names it, for one of the pool's own machines.
   */
  readonly source: HostKeySource;
  readonly at: EpochMs;
  /** The login that the VM accepted, which with OS Login is not the job's own user. Absent: recorded by an older jobctl. */
  readonly user?: string;
}
const SOURCES = ['guest-attributes', 'first-use', 'inventory'] as const;
export type HostKeySource = (typeof SOURCES)[number];

const recordShape = z.object({
  version: z.literal(1),
  publicKey: z.string().regex(/^[a-z0-9@.-]+ [A-Za-z0-9+/]+=*$/),
  source: z.enum(SOURCES),
  at: z.number(),
  user: z.string().regex(LOGIN_USER).optional(),
});

/** The record's text, with the fingerprint for human readers. */
export function hostKeyText({ publicKey, ...learnt }: HostKeyRecord): string {
  return `${JSON.stringify({ version: 1, publicKey, fingerprint: fingerprintOfLine(publicKey), ...learnt }, undefined, 2)}\n`;
}

/** @throws Error naming the object if the text does not have this form */
export function parseHostKey(text: string, objectName: string): HostKeyRecord {
  try {
    const { publicKey, source, at, user } = recordShape.parse(JSON.parse(text));
    return { publicKey, source, at, ...(user === undefined ? {} : { user }) };
  } catch (error) {
    throw new Error(
      `${objectName}: is no host key record (${(error as Error).message}); remove it to have it made anew`,
      {
        cause: error,
      },
    );
  }
}

/** The recorded keys of a node's VMs, by index, for a known_hosts file. Empty before the first connection. */
export async function hostKeysOf(store: StoreReader, uid: string): Promise<ReadonlyMap<number, HostKeyRecord>> {
  const objects = await store.list(hostKeysPrefix(uid));
  const indexes = objects.map(({ name }) => Number(name.slice(hostKeysPrefix(uid).length)));
  const records = await Promise.all(indexes.map((index) => readHostKey(store, uid, index)));
  return new Map(indexes.flatMap((index, at) => (records[at] ? [[index, records[at]] as const] : [])));
}

export async function readHostKey(store: StoreReader, uid: string, index: number): Promise<HostKeyRecord | undefined> {
  const name = hostKeyObject(uid, index);
  const text = await store.read(name);
  return text && parseHostKey(text.toString(), objectPlace(store, name));
}

/** `SHA256:..` of a key in the form of a known_hosts file. */
export function fingerprintOfLine(publicKey: string): string {
  return fingerprintOf(Buffer.from(publicKey.split(' ')[1] ?? '', 'base64'));
}

/** A key's wire form begins with the length and the name of its type (RFC 4253, 6.6). */
export function publicKeyLine(wire: Buffer): string {
  return `${wire.subarray(4, 4 + wire.readUInt32BE(0)).toString('latin1')} ${wire.toString('base64')}`;
}

/** The keys that a host is expected to show. */
export interface ExpectedHostKey {
  /** `ssh-ed25519 AAAA..`; the host may show any one of them. */
  readonly publicKeys: readonly string[];
  readonly source: HostKeySource;
  /** Set if the key is already recorded, so that it need not be pinned. */
  readonly record?: HostKeyRecord;
}

/** The host keys of VMs. Stored per node id, since addresses are recycled to other VMs (marin-community/marin#6450). */
export interface HostKeyPins {
  /**
   * The expected keys. Undefined if they cannot be known: then the key of the first connection is pinned.
   * @throws HostKeyUnverified if the policy forbids pinning such a key; HostUnreachable if the keys may be known later
   */
  expected(target: SshTarget): Promise<ExpectedHostKey | undefined>;
  /**
   * Called after a host has accepted our login as `target.user`, with a key that has no record.
   * @returns the valid record, which has another key if another worker was first
   */
  pin(target: SshTarget, publicKey: string, source: HostKeySource): Promise<HostKeyRecord>;
  /** Called for another key than the recorded one. True: the cloud itself names the key now, and the record was replaced. */
  isReplaced(target: SshTarget, publicKey: string): Promise<boolean>;
  /** The place of a host's record, for messages. */
  placeOf(target: SshTarget): string;
}

/** Keeps pins in memory for the life of this process. */
export function memoryHostKeyPins(): HostKeyPins {
  const records = new Map<string, HostKeyRecord>();
  const nameOf = ({ uid, index }: SshTarget): string => `${uid}/${index}`;
  return {
    expected: async (target) => expectedOf(records.get(nameOf(target))),
    pin: async (target, publicKey, source) => {
      const record = records.get(nameOf(target)) ?? { publicKey, source, at: Date.now(), user: target.user };
      records.set(nameOf(target), record);
      return record;
    },
    isReplaced: async () => false,
    placeOf: () => 'this process',
  };
}

export function expectedOf(record: HostKeyRecord | undefined): ExpectedHostKey | undefined {
  return record && { publicKeys: [record.publicKey], source: record.source, record };
}
