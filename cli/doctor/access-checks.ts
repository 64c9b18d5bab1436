import {
  ACT_AS,
  BUCKET_PERMISSIONS,
  grantCommand,
  type NeededPermission,
  QUOTA_PROJECT_PERMISSION,
  SOMEBODY,
} from '../../cloud/google-project/roles.js';
import { createBucketCommand, farRegions } from '../../domain/store-place.js';
import { disabledWords, unknownProjectWords } from '../../cloud/google-refusal.js';
import type { Identity } from '../../cloud/google-project/port.js';
import { type BucketAnswers, type GoogleFacts, type ProjectAnswers, sectionOf, type Wanted } from './facts.js';
import { couldNotLook, failed, ok, warning } from './finding.js';
import type { Finding, NotLooked } from './finding.js';

/** Checks of the login, the project, its APIs and the rights in it. */

export function credentialsCheck({ identity }: GoogleFacts): Finding {
  const check = 'credentials';
  if (!identity.known)
    return failed(check, identity.why, identity.remedy ?? 'is the network up? nothing else was looked at');
  const { kind, email, quotaProject } = identity.value;
  if (kind === 'none') return warning(check, 'none are sent over plain http: this is not Google');
  const counted = quotaProject === undefined ? '' : `, calls counted for project ${quotaProject}`;
  return ok(check, `${email ?? 'an address that Google does not tell'} (${KIND_WORDS[kind]}${counted})`);
}

const KIND_WORDS: Readonly<Record<Exclude<Identity['kind'], 'none'>, string>> = {
  user: "a person's login",
  'service-account': 'a service account',
  external: 'a federated identity',
};

/** The caller as the value of `--member`; a placeholder if the address is not known. */
export function memberOf({ identity }: GoogleFacts): string {
  if (!identity.known || identity.value.email === undefined) return SOMEBODY;
  const { email } = identity.value;
  return `${email.endsWith('gserviceaccount.com') ? 'serviceAccount' : 'user'}:${email}`;
}

const REFUSED_FOR_ALL: ReadonlySet<NotLooked['kind']> = new Set([
  'quota-project',
  'narrow-scopes',
  'no-credentials',
  'expired-credentials',
]);

const FORBIDDEN_OR_MISSING: ReadonlySet<number | undefined> = new Set([403, 404]);

export function projectCheck(googleProject: string, { project, granted }: ProjectAnswers): Finding {
  const check = 'project';
  if (project.known) {
    const { number, state } = project.value;
    if (state === 'ACTIVE') return ok(check, `${googleProject} (number ${number})`);
    const remedy = `run 'gcloud projects undelete ${googleProject}', or take another`;
    return failed(check, `${googleProject} is being deleted (${state})`, remedy);
  }
  // Google lets no call through, so the other questions would have the same answer.
  if (project.kind !== undefined && REFUSED_FOR_ALL.has(project.kind)) {
    return failed(check, project.why, project.remedy ?? 'log in with an account that has rights on it');
  }
  // A login with rights in the project may lack the right to read the project itself.
  const isThere = granted.known && granted.value.length > 0;
  if (isThere || !isAboutProject(project)) return couldNotLook(check, project);
  const { what, remedy } = unknownProjectWords(googleProject);
  return failed(check, what, remedy);
}

function isAboutProject({ kind, httpStatus }: NotLooked): boolean {
  const isItself = kind === undefined || kind === 'no-permission' || kind === 'unknown-project';
  return isItself && FORBIDDEN_OR_MISSING.has(httpStatus);
}

export function serviceChecks(googleProject: string, { services, bucket }: ProjectAnswers): readonly Finding[] {
  return [...services].map(([service, enabled]) => {
    const check = `API ${service.replace('.googleapis.com', '')}`;
    if (!enabled.known) return couldNotLook(check, enabled);
    if (enabled.value) return ok(check, `${service} is enabled`);
    const { what, remedy } = disabledWords(service, googleProject);
    // A bucket may lie in another project, where the API is on.
    const isBucketThere =
      service.startsWith('storage') && bucket?.facts.known === true && bucket.facts.value !== undefined;
    return isBucketThere ? warning(check, what, remedy) : failed(check, what, remedy);
  });
}

export function permissionChecks(
  facts: GoogleFacts,
  answers: ProjectAnswers,
  needed: readonly NeededPermission[],
): readonly Finding[] {
  const { granted } = answers;
  const check = 'permissions';
  if (!granted.known) return [couldNotLook(check, granted)];
  const on = `projects/${facts.googleProject}`;
  const found = missingOf(needed, granted.value, on, memberOf(facts));
  const all = needed.map(({ permission }) => permission).join(', ');
  return [...(found.length > 0 ? found : [ok(check, `${all} on ${on}`)]), ...quotaProjectChecks(facts, granted.value)];
}

function missingOf(
  needed: readonly NeededPermission[],
  granted: readonly string[],
  on: string,
  member: string,
): Finding[] {
  return needed
    .filter(({ permission }) => !granted.includes(permission))
    .map(({ permission, role, use }) =>
      failed(
        'permissions',
        `no ${permission} on ${on}, needed to ${use}; ${role} has it`,
        `an owner runs '${grantCommand(role, on, member)}'`,
      ),
    );
}

function quotaProjectChecks(facts: GoogleFacts, granted: readonly string[]): readonly Finding[] {
  const { identity, googleProject } = facts;
  if (!identity.known || identity.value.kind !== 'user') return [];
  if ((identity.value.quotaProject ?? googleProject) !== googleProject) return [];
  const { permission, role, use } = QUOTA_PROJECT_PERMISSION;
  if (granted.includes(permission)) return [];
  const on = `projects/${googleProject}`;
  const command = grantCommand(role, on, memberOf(facts));
  return [
    warning('permissions', `no ${permission} on ${on}, needed to ${use}; ${role} has it`, `an owner runs '${command}'`),
  ];
}

/** Checks the right to create hosts that run as a service account. The right may be on that account or on the whole project. */
export function serviceAccountCheck(facts: GoogleFacts, answers: ProjectAnswers, wanted: Wanted): Finding {
  const check = 'service account';
  const { granted, grantedOnAccount, serviceAccount: account } = answers;
  if (granted.known && granted.value.includes(ACT_AS.permission)) {
    return ok(check, `${account ?? "the project's default one"}: ${ACT_AS.permission}, by a role on the project`);
  }
  if (!grantedOnAccount.known || account === undefined) {
    return couldNotLook(check, grantedOnAccount.known ? UNKNOWN_ACCOUNT : grantedOnAccount);
  }
  if (grantedOnAccount.value === undefined) {
    return failed(
      check,
      `${account} does not exist`,
      `name one that does: ${sectionOf(wanted)}.service_account of the job file, --service-account here`,
    );
  }
  if (grantedOnAccount.value.includes(ACT_AS.permission)) return ok(check, `${account}: ${ACT_AS.permission}`);
  const { permission, role, use } = ACT_AS;
  const command = grantCommand(role, account, memberOf(facts));
  return failed(
    check,
    `no ${permission} on ${account}, needed to ${use}; ${role} has it`,
    `an owner runs '${command}'`,
  );
}

const UNKNOWN_ACCOUNT: NotLooked = { known: false, why: 'its address is not known' };

export function bucketChecks(
  facts: GoogleFacts,
  bucket: BucketAnswers | undefined,
  wanted: Wanted,
): readonly Finding[] {
  const check = 'bucket';
  if (bucket === undefined)
    return [warning(check, 'none is named, so none was looked at', 'name it: --bucket, or JOBCTL_BUCKET')];
  const url = `gs://${bucket.name}`;
  const rights = bucketRights(check, facts, bucket, wanted);
  return isMissing(bucket) ? rights : [...rights, ...bucketPlace(bucket, url, wanted)];
}

export const isMissing = ({ facts, granted }: BucketAnswers): boolean =>
  (facts.known && facts.value === undefined) || (granted.known && granted.value === undefined);

/** Checks that the bucket exists and that the caller may read and write it. */
export function bucketRights(
  check: string,
  facts: GoogleFacts,
  bucket: BucketAnswers,
  { zones }: Pick<Wanted, 'zones'>,
): readonly Finding[] {
  const { name, granted } = bucket;
  const url = `gs://${name}`;
  if (isMissing(bucket)) {
    const command = createBucketCommand(name, facts.googleProject, zones[0]);
    return [failed(check, `${url} does not exist`, `run '${command}'`)];
  }
  if (!granted.known) return [couldNotLook(check, granted)];
  const found = missingOf(BUCKET_PERMISSIONS, granted.value ?? [], url, memberOf(facts));
  return found.length > 0
    ? found.map((finding) => ({ ...finding, check }))
    : [ok(check, `${url} can be read and written`)];
}

function bucketPlace({ facts }: BucketAnswers, url: string, { zones }: Wanted): readonly Finding[] {
  const check = 'bucket region';
  if (zones.length === 0) return [];
  if (!facts.known) return [couldNotLook(check, facts)];
  if (facts.value === undefined) return [];
  const { location } = facts.value;
  const far = farRegions(facts.value, zones);
  if (far.length === 0) return [ok(check, `${url} is in ${location}`)];
  const what = `${url} is in ${location}, and the slices in ${far.join(', ')}: reading checkpoints there is slow, and is billed`;
  return [warning(check, what, 'use a bucket in the region of the slices')];
}
