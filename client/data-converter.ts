import type { DataConverter } from '@temporalio/common';
import type { CodecReferences } from '../cloud/codec/codec-references.js';

/**
 * For a Temporal Client or Worker of a service's own that speaks with jobctl's workflows where payloads are encrypted:
 * `new Client({ .., dataConverter: await jobDataConverter({ key: 'file:///etc/jobctl/key' }) })` (docs/encryption.md).
 * It also reads what is not encrypted. @throws CodecKeyError
 */
export async function jobDataConverter(codec: CodecReferences): Promise<DataConverter> {
  const { openCodec } = await import('../cloud/codec/open-codec.js');
  return { payloadCodecs: [await openCodec(codec, { onUnknownKey: 'fail' })] };
}
