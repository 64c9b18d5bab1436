import { createHash } from 'node:crypto';
import type { FileSource } from '../../domain/file-source.js';

/** Hash of all that a module depends on, in an order that stays. */
export function fingerprintOf(...values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex');
}

/** SHA-256 of a content, lower case hex. */
export function contentHashOf(content: Buffer | FileSource): string {
  return Buffer.isBuffer(content) ? createHash('sha256').update(content).digest('hex') : content.sha256;
}
