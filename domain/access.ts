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

/**
 * The rights in a pool whose users are verified (docs/access.md). This one table decides, and nothing else does.
 * quota/membership.ts finds a subject's roles for a job or a project.
 */

/** A subject's relation to the object of a call. `authenticated`: every subject whose token was verified. */
export const ACCESS_ROLES = ['owner', 'service', 'member', 'admin', 'operator', 'authenticated'] as const;
export type AccessRole = (typeof ACCESS_ROLES)[number];

/** The object of a call: a job, a project of a pool, or a pool. */
type AccessScope = 'job' | 'project' | 'pool';

interface Rule {
  readonly scope: AccessScope;
  /** Completes "may not ..". */
  readonly what: string;
  readonly roles: readonly AccessRole[];
}

const CHANGE = ['owner', 'service', 'admin', 'operator'] as const;
const READ = ['owner', 'service', 'member', 'admin', 'operator'] as const;

/** In the order of docs/access.md. `service`: one that may submit for the job's user (pool file, `[[access.services]]`). */
export const ACCESS_TABLE = {
  submit: { scope: 'project', what: 'submit a job', roles: ['owner', 'service'] },
  list: { scope: 'pool', what: 'list the jobs', roles: ['authenticated'] },
  status: { scope: 'job', what: 'see the status', roles: ['authenticated'] },
  why: { scope: 'job', what: 'see why it waits', roles: ['authenticated'] },
  describe: { scope: 'job', what: 'read the job file', roles: READ },
  logs: { scope: 'job', what: 'read the logs', roles: READ },
  outputs: { scope: 'job', what: 'read the outputs', roles: READ },
  cancel: { scope: 'job', what: 'cancel it', roles: CHANGE },
  stop: { scope: 'job', what: 'stop it', roles: CHANGE },
  resume: { scope: 'job', what: 'resume it', roles: CHANGE },
  restart: { scope: 'job', what: 'restart it', roles: CHANGE },
  requeue: { scope: 'job', what: 'requeue it', roles: CHANGE },
  setup: { scope: 'job', what: 'set its hosts up', roles: CHANGE },
  edit: { scope: 'job', what: 'change its job file', roles: ['owner', 'service'] },
  delete: { scope: 'job', what: 'delete it', roles: CHANGE },
  priority: { scope: 'job', what: 'change its priority', roles: CHANGE },
  login: { scope: 'job', what: 'log in to its hosts', roles: ['owner', 'operator'] },
  'secret-names': { scope: 'project', what: 'see the names of secrets', roles: ['member', 'admin', 'operator'] },
  'quota-show': { scope: 'pool', what: 'see the quota', roles: ['authenticated'] },
  'quota-plan': { scope: 'pool', what: 'plan a change of files', roles: ['authenticated'] },
  'quota-apply': { scope: 'pool', what: 'apply files', roles: ['operator'] },
  admission: { scope: 'pool', what: 'freeze, drain or open the pool', roles: ['operator'] },
  'quota-release': {
    scope: 'pool',
    what: 'release a lease whose slices cannot be deleted',
    roles: ['operator'],
  },
  machines: { scope: 'pool', what: 'drain and undrain machines', roles: ['operator'] },
  audit: { scope: 'pool', what: 'read the audit log', roles: ['operator'] },
} as const satisfies Readonly<Record<string, Rule>>;
export type AccessVerb = keyof typeof ACCESS_TABLE;
export const ACCESS_VERBS = Object.keys(ACCESS_TABLE) as readonly AccessVerb[];

/** Subjects that may read logs and outputs beside those of the table (pool file, `[access] readers`). */
export type Readers = 'owner' | 'project' | 'pool';
const OPEN_TO_READERS: ReadonlySet<AccessVerb> = new Set(['describe', 'logs', 'outputs']);

/** The roles that may use a verb, given the pool's setting of its readers. */
function rolesFor(verb: AccessVerb, readers: Readers = 'project'): readonly AccessRole[] {
  const { roles } = ACCESS_TABLE[verb];
  if (!OPEN_TO_READERS.has(verb) || readers === 'project') return roles;
  return readers === 'pool' ? [...roles, 'authenticated'] : roles.filter((role) => role !== 'member');
}

interface AccessQuestion {
  readonly verb: AccessVerb;
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
  /** The job's user. */
  readonly owner?: string;
}

export type AccessAnswer =
  | { readonly isAllowed: true; /** The role that it was allowed for. */ readonly as: AccessRole }
  | { readonly isAllowed: false; /** One sentence: who may not do what, and who may. */ readonly why: string };

/** Pure and total: refuses every verb that the table does not allow to one of the roles. */
export function decideAccess({ verb, subject, roles, readers = 'project', object }: AccessQuestion): AccessAnswer {
  const allowed = rolesFor(verb, readers);
  const as = ACCESS_ROLES.find((role) => roles.includes(role) && allowed.includes(role));
  if (as !== undefined) return { isAllowed: true, as };
  const { what } = ACCESS_TABLE[verb];
  const whose = object.owner === undefined ? '' : ` of ${object.owner}`;
  const about = object.job === undefined ? '' : `job ${object.job}${whose}: `;
  const who = allowed.map((role) => roleWords(role, object)).join(', ');
  return { isAllowed: false, why: `${about}${subject} may not ${what}; allowed: ${who}` };
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
