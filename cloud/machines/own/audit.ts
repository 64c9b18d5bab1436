import { ownershipFrom } from '../../../domain/identity.js';
import { machinePoolObject } from '../../../domain/store-layout.js';
import { objectPlace, type StoreReader } from '../../store/port.js';
import type { AuditedResource } from '../audited-resource.js';
import { CloudUnavailable } from '../port.js';

/** The fields of a pool's record that this reader needs. */
interface RawRecord {
  readonly slices?: Readonly<Record<string, RawSlice>>;
}
interface RawSlice {
  readonly at: number;
  readonly ownership: Readonly<Record<string, string | number>>;
  readonly machines: readonly { readonly name: string; readonly accelerators: Readonly<Record<string, number>> }[];
}

/**
 * Lists the pool's own machines that slices of any owner hold, by the pool's record. It is the auditor's own reader and shares no
 * code with the adapter that it judges. `jobctl machines check` finds claims on machines that no record names.
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
