import { z } from 'zod';
import { ROLES } from './roles.js';

const permission = z
  .string()
  .regex(
    /^(\*|[a-zA-Z]+\.(\*|[a-zA-Z]+\.(\*|[a-zA-Z]+)))$/,
    'must be <service>.<resource>.<verb>, or begin so and end in *',
  );

/** Who calls, and what that one may do. The same in every project. */
export const principalSchema = z.strictObject({
  email: z.email(),
  roles: z
    .array(z.enum(Object.keys(ROLES)))
    .default([])
    .readonly(),
  /** Beside those of the roles. `tpu.*` is every permission that begins so. */
  permissions: z.array(permission).default([]).readonly(),
  /** Held by no means, whatever the roles carry. */
  denied: z.array(permission).default([]).readonly(),
  /** OAuth scopes of its tokens, the last part of the URL. A GCE VM's default ones leave Cloud TPU out. */
  scopes: z.array(z.string()).default(['cloud-platform']).readonly(),
  /** What its tokens say of their life, in seconds. Google's say 3599. */
  tokenSeconds: z.number().min(1).max(43_200).default(3599),
  /** How long they are really taken; absent: as they say. */
  tokenValidSeconds: z.number().min(0).optional(),
  /**
   * Whether it can get new tokens by its login: `expired` answers `invalid_grant`, `reauthentication-needed` the
   * `invalid_rapt` of an organisation that limits sessions. A metadata server asks for no login.
   */
  login: z.enum(['ok', 'expired', 'reauthentication-needed']).default('ok'),
});
export type Principal = z.output<typeof principalSchema>;
export type PrincipalRequest = z.input<typeof principalSchema>;

/** Who calls where no other principal is named: holds everything. */
export const DEFAULT_PRINCIPAL: Principal = principalSchema.parse({
  email: 'owner@rehearsal.example.com',
  roles: ['roles/owner'],
});

export function holds(principal: Principal, wanted: string): boolean {
  const granted = [...principal.permissions, ...principal.roles.flatMap((role) => ROLES[role] ?? [])];
  return isNamed(granted, wanted) && !isNamed(principal.denied, wanted);
}

/** @param scopes any of these will do, beside `cloud-platform`, which is all of them. */
export function hasScope(principal: Principal, scopes: readonly string[]): boolean {
  return ['cloud-platform', ...scopes].some((scope) => principal.scopes.includes(scope));
}

function isNamed(patterns: readonly string[], wanted: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? wanted.startsWith(pattern.slice(0, -1)) : pattern === wanted,
  );
}
