import { ownershipFrom } from '../../../domain/identity.js';
import { machinePoolObject } from '../../../domain/store-layout.js';
import { objectPlace, type StoreReader } from '../../store/port.js';
import type { AuditedResource } from '../audited-resource.js';
import { CloudUnavailable } from '../port.js';

/** What this reader needs of a pool's record. */
interface RawRecord {
  readonly slices?: Readonly<Record<string, RawSlice>>;
}
interface RawSlice {
  readonly at: number;
  readonly ownership: Readonly<Record<string, string | number>>;
  readonly machines: readonly { readonly name: string; readonly accelerators: Readonly<Record<string, number>> }[];
}

/**
 * What slices of anybody hold of a pool's own machines, by the pool's record. The auditor's own reader: it shares no code with the
 * adapter that it judges. A claim on a machine that no record names is found by `jobctl machines check`.
 * @throws CloudUnavailable if the record cannot be read
 */
export async function listMachinesForAudit(store: StoreReader, pool: string): Promise<readonly AuditedResource[]> {
  const name = machinePoolObject(pool);
  const bytes = await store.read(name).catch((error: unknown) => {
    throw new CloudUnavailable(`audit: ${objectPlace(store, name)} could not be read: ${(error as Error).message}`);
  });
  if (bytes === undefined) return [];
  const { slices = {} } = JSON.parse(bytes.toString()) as RawRecord;
  return Object.entries(slices).map(([slice, { at, ownership, machines }]) => {
    const labels = Object.fromEntries(
      Object.entries(ownership).map(([key, value]) => [`jobctl-${key}`, String(value)]),
    );
    const chips = machines.flatMap(({ accelerators }) => Object.values(accelerators)).reduce((a, b) => a + b, 0);
    return {
      ...{ kind: 'claim', account: pool, zone: 'own-machines', name: slice, labels, chips },
      state: ownershipFrom(labels) === undefined ? 'UNREADABLE' : 'CLAIMED',
      accelerator: machines.map((machine) => machine.name).join(' '),
      createTime: new Date(at).toISOString(),
    };
  });
}
