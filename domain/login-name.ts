/** Names that `useradd` takes (shadow-utils, useradd(8), "CAVEATS"), at most 32 characters. */
const LOGIN_NAME = /^[a-z_][a-z0-9_-]{0,31}$/i;

/**
 * The login name on hosts of a job whose user may be an address: `alice.liddell@example.org` becomes `alice_liddell`. A valid
 * login name stays as it is. Two users of two domains may get the same name, because they share no host.
 */
export function loginNameOf(user: string): string {
  if (LOGIN_NAME.test(user)) return user;
  const name = (user.split('@', 1)[0] ?? '').toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_');
  return /^[a-z_]/.test(name) ? name.slice(0, 32) : `u_${name}`.slice(0, 32);
}
