/** A name in the secret store of an installation. Secret Manager takes it behind a prefix (docs/adr/0023). */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/;
export const SECRET_NAME_RULE = "a secret's name: a letter, then letters, digits, - and _; 100 characters at most";

const PREFIX = 'secret:';

/** The name in `secret:NAME`, however it is spelt; undefined for what is no reference to a secret. */
export function secretNamed(reference: string): string | undefined {
  return reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : undefined;
}
