import type { BundleSpec } from '../../../domain/modules/bundle.js';
import type { FileSource } from '../../../domain/file-source.js';
import { tellLine } from '../../terminal/print.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { packBundle, type PackingOptions } from './bundle.js';
import { NotPackable } from './pack-tree.js';

/**
 * Packs a folder as a bundle, or returns its problem; undefined if it is only checked. Its content is printed to stderr, so that
 * the submitter sees at once if the wrong folder is sent, or only half of it. The archive is removed when the process exits.
 */
export async function packedBundle(
  folder: string,
  bundle: BundleSpec,
  { isDry = false }: Pick<PackingOptions, 'isDry'> = {},
): Promise<FileSource | string | undefined> {
  const packing = new TransferLine('packing');
  const onRead = (sent: number, size: number): void => packing.show({ path: bundle.dir, sent, size });
  try {
    const { packed, says, warnings } = await packBundle(folder, bundle, { isDry, onRead }).finally(() => packing.end());
    for (const line of [says, ...warnings.map((warning) => `warning: ${warning}`)]) tellLine(line);
    return packed?.source;
  } catch (error) {
    if (error instanceof NotPackable) return error.message;
    throw error;
  }
}
