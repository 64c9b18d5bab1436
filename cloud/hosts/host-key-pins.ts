import type { HostKeyRecord, HostKeySource } from './host-key-record.js';
import type { SshTarget } from './port.js';

/** What is known of a host's key before it is seen. */
export interface ExpectedHostKey {
  /** `ssh-ed25519 AAAA..`; any one of these. */
  readonly publicKeys: readonly string[];
  readonly source: HostKeySource;
  /** There is a record of it: nothing is left to be pinned. */
  readonly record?: HostKeyRecord;
}

/** Which host key each TPU VM has. Per node id, since addresses are recycled to other VMs (failures.md 29). */
export interface HostKeyPins {
  /**
   * Undefined where nobody can know it: the key that the host shows first is then pinned.
   * @throws HostKeyUnverified where such a host is not to be trusted; HostUnreachable where it may be known later.
   */
  expected(target: SshTarget): Promise<ExpectedHostKey | undefined>;
  /**
   * Called once a host has accepted our login, as `target.user`, with a key that has no record.
   * @returns the record that stands: of another key where somebody else was first.
   */
  pin(target: SshTarget, publicKey: string, source: HostKeySource): Promise<HostKeyRecord>;
  /** The host showed another key than its record: true where the cloud itself now names it, and the record was replaced. */
  isReplaced(target: SshTarget, publicKey: string): Promise<boolean>;
  /** Where the record of a host is, for messages. */
  placeOf(target: SshTarget): string;
}

/** Pins that live as long as this process. */
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
