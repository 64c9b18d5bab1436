import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type CodecKey, CodecKeyError, parseCodecKey } from './codec-key.js';
import { SECRET_VERSION, readSecret } from './secret-manager.js';

/** Where a reference is looked up. */
export interface KeyPlaces {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Another Secret Manager than Google's. */
  readonly secretManagerEndpoint?: string;
}

const FORMS = 'wanted file:///PATH, env:NAME or projects/P/secrets/S/versions/V (Secret Manager)';

/** The key that a reference names. Configuration holds references alone. @throws CodecKeyError */
export async function loadCodecKey(reference: string, places: KeyPlaces): Promise<CodecKey> {
  return parseCodecKey(await keyText(reference, places), reference);
}

function keyText(reference: string, { environment, secretManagerEndpoint }: KeyPlaces): string | Promise<string> {
  if (reference.startsWith('file:')) return keyFile(reference);
  if (reference.startsWith('env:')) return keyVariable(reference, environment);
  if (SECRET_VERSION.test(reference)) return readSecret(reference, secretManagerEndpoint);
  // Somebody may have given the key itself: it is not repeated.
  const shown = /^(projects\/|\/|\.)/.test(reference) ? `'${reference}' is` : 'what is given is';
  throw new CodecKeyError(`codec key: ${shown} no reference to a key: ${FORMS}`);
}

function keyVariable(reference: string, environment: KeyPlaces['environment']): string {
  const text = environment[reference.slice('env:'.length)];
  if (text) return text;
  throw new CodecKeyError(`${reference}: this environment variable is not set; its value is the key, ID:BASE64`);
}

function keyFile(reference: string): string {
  const path = pathOf(reference);
  try {
    refuseOpenFile(reference, path, statSync(path).mode);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof CodecKeyError) throw error;
    throw new CodecKeyError(`${reference}: the codec key cannot be read: ${(error as Error).message}`);
  }
}

function pathOf(reference: string): string {
  try {
    return fileURLToPath(reference);
  } catch {
    throw new CodecKeyError(`${reference}: is no address of a file on this machine: file:// and the absolute path`);
  }
}

const OTHERS_READ = 0o004;
const GROUP_OR_OTHERS_WRITE = 0o022;

/** A group may read: secrets are mounted into containers so. */
function refuseOpenFile(reference: string, path: string, mode: number): void {
  const can = mode & OTHERS_READ ? 'read' : mode & GROUP_OR_OTHERS_WRITE ? 'write' : undefined;
  if (can === undefined) return;
  const shown = (mode & 0o777).toString(8);
  throw new CodecKeyError(`${reference}: others can ${can} this key (mode ${shown})\n  chmod 600 ${path}`);
}
