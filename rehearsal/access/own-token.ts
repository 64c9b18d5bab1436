import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';

/** The token of one rehearsal, for users who may read its state folder. */
export interface OwnToken {
  readonly token: string;
  /** The token alone: for gcloud, and for jobctl's `accessTokenFile`. */
  readonly tokenFile: string;
  /** The whole header, for `curl -H @FILE`: any login could read a token among the arguments. */
  readonly headerFile: string;
}

/** Makes a new token at each start. A client may have sent the old one to a stranger on the port of a stopped rehearsal. */
export function makeOwnToken(folder: string): OwnToken {
  const token = `rehearsal.${randomBytes(32).toString('base64url')}`;
  makeFolderSync(folder, 0o700);
  const tokenFile = join(folder, 'token');
  const headerFile = join(folder, 'authorization-header');
  writePrivate(tokenFile, token);
  writePrivate(headerFile, `Authorization: Bearer ${token}\n`);
  return { token, tokenFile, headerFile };
}

/** Writes a new file, so that an older file's mode does not matter. */
function writePrivate(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
