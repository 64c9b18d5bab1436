/** The subject that a verified token names. */
export interface Subject {
  /** `user`: a person. `service`: a service account, according to its issuer or to the server's configuration. */
  readonly kind: 'user' | 'service';
  /** Name in jobs, quota files and lists, such as `alice@example.org`: `QUOTA_NAME`. */
  readonly id: string;
  /** Names as in pool files, with a prefix per issuer if there are several. No two issuers share a name (server/identity). */
  readonly groups: readonly string[];
}

/** A principal in a pool file: `user:alice@example.org`, `service:ci@p.iam.gserviceaccount.com` or `group:tpu-operators`. */
export const PRINCIPAL = /^(user|service|group):[\w.@+/-]{1,200}$/;
export const PRINCIPAL_RULE =
  'user:NAME, service:NAME or group:NAME; letters, digits and . _ - + @ / in the name, 200 at most';

/** Returns whether one of `principals` names this subject. Names are compared byte for byte. */
export function isOneOf(subject: Subject, principals: readonly string[]): boolean {
  const own = [`${subject.kind}:${subject.id}`, ...subject.groups.map((group) => `group:${group}`)];
  return principals.some((principal) => own.includes(principal));
}

/** A subject's relation to the object of a call. `authenticated`: every subject whose token was verified. */
export const ACCESS_ROLES = ['owner', 'service', 'member', 'admin', 'operator', 'authenticated'] as const;
export type AccessRole = (typeof ACCESS_ROLES)[number];

/** The object of a call: a job, a project of a pool, or a pool. */
type AccessScope = 'job' | 'project' | 'pool';

/** Who may do one thing (contract/access.ts). */
export interface AccessRule {
  readonly scope: AccessScope;
  /** Completes "may not ..". */
  readonly what: string;
  readonly roles: readonly AccessRole[];
  /** The pool's setting `[access] readers` adds or removes roles. */
  readonly isReading?: true;
}

/** The roles that may change a job. `service`: one that may submit for the job's user (pool file, `[[access.services]]`). */
export const CHANGING_ROLES = ['owner', 'service', 'admin', 'operator'] as const satisfies readonly AccessRole[];
export const READING_ROLES = [
  'owner',
  'service',
  'member',
  'admin',
  'operator',
] as const satisfies readonly AccessRole[];

/** Readers of logs and outputs (`[access] readers`). `project`: as in the table. `owner`: no other members. `pool`: everyone. */
export type Readers = 'owner' | 'project' | 'pool';

function rolesFor({ roles, isReading }: AccessRule, readers: Readers): readonly AccessRole[] {
  if (isReading !== true || readers === 'project') return roles;
  return readers === 'pool' ? [...roles, 'authenticated'] : roles.filter((role) => role !== 'member');
}

interface AccessQuestion {
  readonly rule: AccessRule;
  /** From the token, verified. */
  readonly subject: string;
  /** All roles of the subject for the object. */
  readonly roles: readonly AccessRole[];
  readonly readers?: Readers;
  /** Named in a refusal. */
  readonly object: AccessObject;
}

export interface AccessObject {
  readonly pool: string;
  readonly project?: string;
  readonly job?: string;
  /** In place of a job: a schedule, whose jobs are `owner`'s. */
  readonly schedule?: string;
  /** The job's user. */
  readonly owner?: string;
}

export type AccessAnswer =
  | { readonly isAllowed: true; /** The role that has the right. */ readonly as: AccessRole }
  | { readonly isAllowed: false; /** One sentence: who may not do what, and who may. */ readonly why: string };

/** Pure and total: refuses whatever the rule does not allow to one of the roles. */
export function decideAccess({ rule, subject, roles, readers = 'project', object }: AccessQuestion): AccessAnswer {
  const allowed = rolesFor(rule, readers);
  const as = ACCESS_ROLES.find((role) => roles.includes(role) && allowed.includes(role));
  if (as !== undefined) return { isAllowed: true, as };
  const whose = object.owner === undefined ? '' : ` of ${object.owner}`;
  const what = object.schedule === undefined ? object.job && `job ${object.job}` : `schedule ${object.schedule}`;
  const about = what === undefined ? '' : `${what}${whose}: `;
  const who = allowed.map((role) => roleWords(role, object)).join(', ');
  return { isAllowed: false, why: `${about}${subject} may not ${rule.what}; allowed: ${who}` };
}

function roleWords(role: AccessRole, { pool, project, owner }: AccessObject): string {
  const of = project === undefined ? 'its project' : `project ${project}`;
  switch (role) {
    case 'owner':
      return owner ?? 'its user';
    case 'service':
      return 'a service that may submit for them';
    case 'member':
      return `members of ${of}`;
    case 'admin':
      return `admins of ${of}`;
    case 'operator':
      return `operators of pool ${pool}`;
    case 'authenticated':
      return 'everybody who is logged in';
  }
}
