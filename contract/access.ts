import { type AccessRule, CHANGING_ROLES, READING_ROLES } from '../domain/access.js';
import { JOB_REQUESTS, type JobRequest, type JobVerb } from './job-requests.js';

/** The rights that the requests of JOB_REQUESTS need. */
const requests = Object.fromEntries(
  Object.values(JOB_REQUESTS).map(({ access, right }) => [access, { scope: 'job', ...right }]),
) as { readonly [Verb in JobVerb as JobRequest<Verb>['access']]: AccessRule };

const OWN_JOB = ['owner', 'service'] as const;

/**
 * The rights in a pool whose users are verified (docs/access.md), in the order of that page. This one table decides, and nothing
 * else does. quota/membership.ts finds a subject's roles for a job or a project.
 */
const table = {
  submit: { scope: 'project', what: 'submit a job', roles: OWN_JOB },
  list: { scope: 'pool', what: 'list the jobs', roles: ['authenticated'] },
  status: { scope: 'job', what: 'see the status', roles: ['authenticated'] },
  why: { scope: 'job', what: 'see why it waits', roles: ['authenticated'] },
  describe: { scope: 'job', what: 'read the job file', roles: READING_ROLES, isReading: true },
  logs: { scope: 'job', what: 'read the logs', roles: READING_ROLES, isReading: true },
  outputs: { scope: 'job', what: 'read the outputs', roles: READING_ROLES, isReading: true },
  report: { scope: 'job', what: 'count it in a report', roles: READING_ROLES, isReading: true },
  cancel: { scope: 'job', what: 'cancel it', roles: CHANGING_ROLES },
  ...requests,
  edit: { scope: 'job', what: 'change its job file', roles: OWN_JOB },
  delete: { scope: 'job', what: 'delete it', roles: CHANGING_ROLES },
  priority: { scope: 'job', what: 'change its priority', roles: CHANGING_ROLES },
  schedule: { scope: 'project', what: 'schedule a job', roles: OWN_JOB },
  'schedule-change': { scope: 'job', what: 'pause, resume, trigger or delete the schedule', roles: CHANGING_ROLES },
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
} as const satisfies Readonly<Record<string, AccessRule>>;

export type AccessVerb = keyof typeof table;
export const ACCESS_TABLE: Readonly<Record<AccessVerb, AccessRule>> = table;
export const ACCESS_VERBS = Object.keys(table) as readonly AccessVerb[];
