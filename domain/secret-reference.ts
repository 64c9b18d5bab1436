/** A name in the secret store of an installation. Secret Manager takes it behind a prefix (docs/adr/0023). */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/;
export const SECRET_NAME_RULE = "a secret's name: a letter, then letters, digits, - and _; 100 characters at most";

/**
 * What the names of a project's secrets begin with, where secrets belong to projects (a pool in verified mode): `vision--wandb`.
 * Letters that no secret's name has are `_`. A project whose name has `--` in it owns none.
 */
export const projectSecretPrefix = (project: string): string =>
  `${project.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '_')}--`;

/** Whether a job of `project` may read it: the part before the first `--` is the project's. */
export const isSecretOf = (project: string, secret: string): boolean =>
  `${secret.split('--', 1)[0]?.toLowerCase()}--` === projectSecretPrefix(project) && secret.includes('--');

const PREFIX = 'secret:';

/** The name in `secret:NAME`, however it is spelt; undefined for what is no reference to a secret. */
export function secretNamed(reference: string): string | undefined {
  return reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : undefined;
}
