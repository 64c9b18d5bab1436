import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fileErrorWords } from '../domain/error-words.js';
import { modeForOthers } from '../domain/file-mode.js';
import { ServerConfigError } from './config.js';

/**
 * Reads the secret that a reference names. The configuration contains only references.
 * @param reference file:///PATH of a file that only its owner can read, or env:NAME @param field for messages
 * @throws ServerConfigError, which never contains the secret
 */
export function secretText(reference: string, field: string): string {
  if (reference.startsWith('env:')) {
    const value = process.env[reference.slice('env:'.length)];
    if (value) return value;
    throw new ServerConfigError(`${field}: ${reference}: this environment variable is not set`);
  }
  if (!reference.startsWith('file:'))
    throw new ServerConfigError(`${field}: is no reference: wanted file:///PATH or env:NAME`);
  try {
    const path = fileURLToPath(reference);
    const others = modeForOthers(statSync(path).mode);
    if (others !== undefined)
      throw new ServerConfigError(`${field}: ${path} can be read by others (mode ${others})\n  chmod 600 ${path}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof ServerConfigError) throw error;
    throw new ServerConfigError(`${field}: ${reference} cannot be read: ${fileErrorWords(error)}`);
  }
}
