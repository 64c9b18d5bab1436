import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import { AccessControl, initialAccess } from './access-control.js';
import type { AccessState } from './access-control.js';
import { openCertificates } from './certificates.js';
import type { Certificates } from './certificates.js';
import { principalSchema } from './principal.js';

export const authenticationSchema = z.strictObject({
  /** Laid over those that the state folder remembers, by email. The first start has an owner who may do everything. */
  principals: z.array(principalSchema).optional(),
  /** Whose tokens the metadata server and the credentials file give; null: nobody's. Absent: the first one given. */
  current: z.string().nullable().optional(),
});
export type AuthenticationOptions = z.input<typeof authenticationSchema>;

export interface OpenedAccess {
  readonly control: AccessControl;
  /** Absent without authentication. */
  readonly tls?: Certificates;
  /** Resolves when the rights are on disk. */
  save(): Promise<void>;
}

/** Rights, and TLS with them. Without `options` nobody is asked who they are. @param folder of the state. */
export async function openAccess(folder: string, options: AuthenticationOptions | undefined): Promise<OpenedAccess> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'access.json');
  const state = { ...initialAccess(), ...loadSnapshot<AccessState>(file), isEnforced: options !== undefined };
  if (options !== undefined) applyAuthentication(state, authenticationSchema.parse(options));
  const snapshot = new Snapshot(file, () => state);
  await snapshot.save();
  const tls = options === undefined ? {} : { tls: await openCertificates(join(folder, 'tls')) };
  return { control: new AccessControl(state, Date.now), ...tls, save: () => snapshot.save() };
}

/** Throws RangeError if nobody is called as the new current principal. */
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
