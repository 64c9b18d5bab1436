import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The token of one rehearsal, for whoever may read its state folder. */
export interface OwnToken {
  readonly token: string;
  /** The token alone: for gcloud, and for jobctl's `accessTokenFile`. */
  readonly tokenFile: string;
  /** The whole header, for `curl -H @FILE`: a token among the arguments could be read by every login. */
  readonly headerFile: string;
}

/** A new one at each start: what a stranger on a port of a rehearsal that does not run was sent is worth nothing afterwards. */
export function makeOwnToken(folder: string): OwnToken {
  const token = `rehearsal.${randomBytes(32).toString('base64url')}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const tokenFile = join(folder, 'token');
  const headerFile = join(folder, 'authorization-header');
  writePrivate(tokenFile, token);
  writePrivate(headerFile, `Authorization: Bearer ${token}\n`);
  return { token, tokenFile, headerFile };
}

/** Anew, so that an older file's mode counts for nothing. */
function writePrivate(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
