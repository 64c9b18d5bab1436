import type { JobView } from '../../../contract/job.js';
import type { CliContext } from '../../place/context.js';

/** The SSH key that a host of the job must show (docs/ssh-fleet.md). */
export interface ShownHostKey {
  readonly slice: number;
  readonly host: number;
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly source: string;
  /** Epoch ms. */
  readonly at: number;
}

/** Keys of the present hosts. Empty if the store is not known here or cannot be read, because the keys are an extra. */
export async function shownHostKeys(
  { slices }: JobView,
  { store: place }: CliContext,
): Promise<readonly ShownHostKey[]> {
  if (place === undefined) return [];
  const { openReader } = await import('../../place/connect.js');
  const { fingerprintOfLine, hostKeysOf } = await import('../../../cloud/hosts/host-key-record.js');
  try {
    const store = await openReader(place);
    const keys = await Promise.all(
      slices.map(async ({ index: slice, uid }) => {
        const records = uid === undefined ? [] : [...(await hostKeysOf(store, uid))];
        return records.map(([host, { publicKey, source, at }]) => ({
          slice,
          host,
          publicKey,
          fingerprint: fingerprintOfLine(publicKey),
          source,
          at,
        }));
      }),
    );
    return keys.flat().sort((a, b) => a.slice - b.slice || a.host - b.host);
  } catch {
    return [];
  }
}
