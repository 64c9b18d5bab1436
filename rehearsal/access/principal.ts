import { z } from 'zod';
import { ROLES } from './roles.js';

const permission = z
  .string()
  .regex(
    /^(\*|[a-zA-Z]+\.(\*|[a-zA-Z]+\.(\*|[a-zA-Z]+)))$/,
    'must be <service>.<resource>.<verb>, or begin so and end in *',
  );

/** A caller and its rights, the same in every project. */
export const principalSchema = z.strictObject({
  email: z.email(),
  roles: z
    .array(z.enum(Object.keys(ROLES)))
    .default([])
    .readonly(),
  /** Permissions beside those of the roles. `tpu.*` is every permission with that prefix. */
  permissions: z.array(permission).default([]).readonly(),
  /** Permissions that are never held, whatever the roles include. */
  denied: z.array(permission).default([]).readonly(),
  /** OAuth scopes of the principal's tokens, the last part of the URL. A GCE VM's default scopes leave out Cloud TPU. */
  scopes: z.array(z.string()).default(['cloud-platform']).readonly(),
  /** Lifetime that the principal's tokens state, in seconds. Google's state 3599. */
  tokenSeconds: z.number().min(1).max(43_200).default(3599),
  /** Seconds for which the principal's tokens are accepted; absent: for the lifetime that they state. */
  tokenValidSeconds: z.number().min(0).optional(),
  /**
   * Whether the principal's login can get new tokens. `expired` answers `invalid_grant`; `reauthentication-needed` answers the
   * `invalid_rapt` of an organisation that limits sessions. A metadata server asks for no login.
   */
  login: z.enum(['ok', 'expired', 'reauthentication-needed']).default('ok'),
});
export type Principal = z.output<typeof principalSchema>;
export type PrincipalRequest = z.input<typeof principalSchema>;

/** The caller if no other principal is named. Holds every permission. */
export const DEFAULT_PRINCIPAL: Principal = principalSchema.parse({
  email: 'owner@rehearsal.example.com',
  roles: ['roles/owner'],
});

export function holds(principal: Principal, wanted: string): boolean {
  const granted = [...principal.permissions, ...principal.roles.flatMap((role) => ROLES[role] ?? [])];
  return isNamed(granted, wanted) && !isNamed(principal.denied, wanted);
}

/** @param scopes any of these suffices; `cloud-platform` includes them all */
export function hasScope(principal: Principal, scopes: readonly string[]): boolean {
  return ['cloud-platform', ...scopes].some((scope) => principal.scopes.includes(scope));
}

function isNamed(patterns: readonly string[], wanted: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? wanted.startsWith(pattern.slice(0, -1)) : pattern === wanted,
  );
}
