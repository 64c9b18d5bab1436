import type { CodecReferences } from '../../../cloud/codec/codec-key.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';

/**
 * The keys of a stack from now on. Earlier keys stay for decoding, because the database holds data encrypted with them.
 * @param wish null: new data are not encrypted; undefined: unchanged
 * @throws CodecKeyError, CliError before anything is started
 */
export async function settleCodec(
  known: CodecReferences | undefined,
  wish: string | null | undefined,
): Promise<CodecReferences | undefined> {
  const codec = wish === undefined ? known : withKey(known, wish);
  if (codec === undefined) return undefined;
  const { openCodec } = await import('../../../cloud/codec/open-codec.js');
  await openCodec(codec, { onUnknownKey: 'fail' });
  return codec;
}

function withKey(known: CodecReferences | undefined, key: string | null): CodecReferences | undefined {
  if (key?.startsWith('env:')) {
    const why = 'the stack outlives this shell, and remembers where its key is';
    throw new CliError(ExitCode.Usage, `--codec-key ${key}: is in this shell alone`, why, 'name a file: file:///PATH');
  }
  const before = [known?.key, ...(known?.decodeKeys ?? [])].filter((each) => each !== undefined && each !== key);
  const decodeKeys = [...new Set(before)] as string[];
  if (key === null && decodeKeys.length === 0) return undefined;
  return { ...(key === null ? {} : { key }), ...(decodeKeys.length === 0 ? {} : { decodeKeys }) };
}
