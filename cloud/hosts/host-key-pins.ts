import type { HostKeyRecord, HostKeySource } from './host-key-record.js';
import type { SshTarget } from './port.js';

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
   * @throws HostKeyUnverified if such a host must not be trusted; HostUnreachable if the keys may be known later
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
