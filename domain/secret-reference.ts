/** A name in the secret store of an installation. Secret Manager takes it behind a prefix (docs/adr/0023). */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,99}$/;
export const SECRET_NAME_RULE = "a secret's name: a letter, then letters, digits, - and _; 100 characters at most";

/** Names of projects that can stand before the first `--` of a secret's name as they are. */
const OWNER = /^[a-z](?:-?[a-z0-9_])*$/;
/** Why others cannot. */
export const OWNER_RULE =
  "a project's name as it stands in a secret's: a letter, then letters, digits, _ and single dashes inside";

/**
 * What the names of a project's secrets begin with, where secrets belong to projects (verified mode): `vision--wandb`. Undefined: the
 * project owns none, since `vision.a` written in the letters that secrets have could be another project's name (docs/adr/0087).
 */
export const projectSecretPrefix = (project: string): string | undefined =>
  OWNER.test(project.toLowerCase()) ? `${project.toLowerCase()}--` : undefined;

/** Whether it belongs to some project. */
export const isOfProject = (secret: string): boolean => secret.includes('--');

/** Whether a job of `project` may read it: the part before the first `--` is the project's. */
export const isSecretOf = (project: string, secret: string): boolean =>
  isOfProject(secret) && `${secret.split('--', 1)[0]?.toLowerCase()}--` === projectSecretPrefix(project);

const PREFIX = 'secret:';

/** The name in `secret:NAME`, however it is spelt; undefined for what is no reference to a secret. */
export function secretNamed(reference: string): string | undefined {
  return reference.startsWith(PREFIX) ? reference.slice(PREFIX.length) : undefined;
}
