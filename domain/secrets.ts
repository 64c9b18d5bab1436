/** Secrets: their names in a job file and in the store, and the mode of files that hold them. */

/** A name in the secret store of an installation. Secret Manager stores it behind a prefix (docs/adr/0023). */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/;
export const SECRET_NAME_RULE = "a secret's name: a letter, then letters, digits, - and _; 100 characters at most";

/** Names of projects that can precede the first `--` of a secret's name unchanged. */
const OWNER = /^[a-z](?:-?[a-z0-9_])*$/;
/** The rule for such names, in words. */
export const OWNER_RULE =
  "a project's name as it stands in a secret's: a letter, then letters, digits, _ and single dashes inside";

/**
 * Prefix of the names of a project's secrets, if secrets belong to projects (verified mode): `vision--wandb`. Undefined: the
 * project owns no secrets, because its name, such as `vision.a`, would need letters that secrets' names lack (docs/adr/0087).
 */
export const projectSecretPrefix = (project: string): string | undefined =>
  OWNER.test(project.toLowerCase()) ? `${project.toLowerCase()}--` : undefined;

/** Returns whether the secret belongs to a project. */
export const isOfProject = (secret: string): boolean => secret.includes('--');

/** Returns whether a job of `project` may read the secret: the part before the first `--` must be the project's. */
export const isSecretOf = (project: string, secret: string): boolean =>
  isOfProject(secret) && `${secret.split('--', 1)[0]?.toLowerCase()}--` === projectSecretPrefix(project);

const PREFIX = 'secret:';

/** The name in `secret:NAME`, valid or not. Undefined if the text is not a reference to a secret. */
export function secretNamed(reference: string): string | undefined {
  return reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : undefined;
}

/**
 * The mode of a file that not only its owner can access, for people: `644`. Undefined if only its owner can, which OpenSSH
 * requires of its keys.
 * @param mode from `stat`
 */
export const modeForOthers = (mode: number): string | undefined =>
  (mode & 0o077) === 0 ? undefined : (mode & 0o777).toString(8);
