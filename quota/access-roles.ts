import { isOneOf, type Subject } from '../domain/access/principal.js';
import type { AccessObject, AccessRole, Readers } from '../domain/access/table.js';
import { isMember } from './membership.js';
import { isNamedIn } from './name-pattern.js';
import { findProject, type QuotaConfig } from './quota-config.js';

/** A service that submits for people. */
export interface ServiceRule {
  /** Id of the subject; a `service`. */
  readonly subject: string;
  /** Users that it may submit for: names, or RE2 patterns that match the whole id. */
  readonly submitFor: readonly string[];
}

/** `[access]` of a pool file. */
export interface AccessRules {
  /** Principals. */
  readonly operators: readonly string[];
  /** Principals by project; keys are in lower case. */
  readonly projectAdmins: Readonly<Record<string, readonly string[]>>;
  readonly services: readonly ServiceRule[];
  readonly readers: Readers;
}

/** The rules of a file without `[access]`: there are no operators or admins, and no service submits for others. */
export const NO_ACCESS_RULES: AccessRules = { operators: [], projectAdmins: {}, services: [], readers: 'project' };

/**
 * Every role of `subject` towards `object` under the files in force. A service owns what it submitted in its own name. `member`
 * means membership by the quota file, and only in a project that the file names.
 */
export function rolesOf(
  subject: Subject,
  object: AccessObject,
  files: { readonly rules: AccessRules; readonly config: QuotaConfig },
): readonly AccessRole[] {
  const { owner, project } = object;
  const { rules, config } = files;
  const entry = project === undefined ? undefined : findProject(config, project);
  const admins = project === undefined ? [] : (rules.projectAdmins[project.toLowerCase()] ?? []);
  const roles: readonly (readonly [AccessRole, boolean])[] = [
    ['owner', owner !== undefined && owner === subject.id],
    ['service', owner !== undefined && owner !== subject.id && maySubmitFor(subject, owner, rules)],
    ['member', entry !== undefined && isMember(entry, subject.id, 'verified')],
    ['admin', isOneOf(subject, admins)],
    ['operator', isOneOf(subject, rules.operators)],
    ['authenticated', true],
  ];
  return roles.flatMap(([role, isTrue]) => (isTrue ? [role] : []));
}

/** Returns whether a service may start a job that counts as `user`'s. A person may submit only in their own name. */
export function maySubmitFor(subject: Subject, user: string, { services }: AccessRules): boolean {
  if (subject.kind !== 'service') return false;
  const own = services.filter((service) => service.subject === subject.id);
  return own.some(({ submitFor }) => isNamedIn(submitFor, user, 'verified'));
}
