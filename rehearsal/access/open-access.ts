import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import { z } from 'zod';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import { AccessControl, initialAccess } from './access-control.js';
import type { AccessState } from './access-control.js';
import { makeOwnToken } from './own-token.js';
import type { OwnToken } from './own-token.js';
import { openCertificates } from './certificates.js';
import type { Certificates } from './certificates.js';
import { principalSchema } from './principal.js';

export const authenticationSchema = z.strictObject({
  /** Override stored principals with the same email. The first start without any has an owner who may do everything. */
  principals: z.array(principalSchema).optional(),
  /** Principal whose tokens the metadata server and the credentials file give; null: none. Absent: the first one given. */
  current: z.string().nullable().optional(),
});
export type AuthenticationOptions = z.input<typeof authenticationSchema>;

export interface OpenedAccess {
  readonly control: AccessControl;
  readonly own: OwnToken;
  /** Absent without authentication. */
  readonly tls?: Certificates;
  /** Resolves when the rights are on disk. */
  save(): Promise<void>;
}

/**
 * Opens the access rights, and TLS with them. Without `options` every known caller may do everything, and tokens of an earlier
 * start become invalid: a stranger may have listened on a port while no rehearsal ran.
 * @param folder state folder
 * @param trustsLogin whether calls of the same login need no token
 */
export async function openAccess(
  folder: string,
  options: AuthenticationOptions | undefined,
  trustsLogin: boolean,
): Promise<OpenedAccess> {
  makeFolderSync(folder);
  // The folder holds the key that signs tokens.
  chmodSync(folder, 0o700);
  const file = join(folder, 'access.json');
  const fresh = initialAccess();
  const state = { ...fresh, ...loadSnapshot<AccessState>(file), isEnforced: options !== undefined };
  if (options !== undefined) applyAuthentication(state, authenticationSchema.parse(options));
  else state.key = fresh.key;
  const own = makeOwnToken(folder);
  const snapshot = new Snapshot(file, () => state);
  await snapshot.save();
  const tls = options === undefined ? {} : { tls: await openCertificates(join(folder, 'tls')) };
  const control = new AccessControl(state, Date.now, { token: own.token, trustsLogin });
  return { control, own, ...tls, save: () => snapshot.save() };
}

/** @throws RangeError if no principal has the email of the new current one */
export function applyAuthentication(
  state: AccessState,
  { principals = [], current }: z.output<typeof authenticationSchema>,
): void {
  const named = Object.fromEntries(principals.map((principal) => [principal.email, principal]));
  const next = current === undefined ? (principals[0]?.email ?? state.current) : current;
  const all = { ...state.principals, ...named };
  if (next !== null && all[next] === undefined) {
    throw new RangeError(`current: '${next}' is none of the principals: ${Object.keys(all).join(', ')}`);
  }
  state.principals = all;
  state.current = next;
}
