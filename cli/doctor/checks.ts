import {
  bucketChecks,
  credentialsCheck,
  memberOf,
  permissionChecks,
  projectCheck,
  serviceAccountCheck,
  serviceChecks,
  bucketRights,
  isMissing,
} from './access-checks.js';
import { SOMEBODY, OBJECT_WRITER_ROLES, revokeCommand } from '../../cloud/google-project/roles.js';
import {
  type GoogleFacts,
  permissionsOf,
  type Wanted,
  type ProjectAnswers,
  type SystemBucketAnswers,
} from './facts.js';
import { type Finding, couldNotLook, failed, ok, warning } from './finding.js';
import { networkChecks } from './network-checks.js';
import { placeChecks, vmChecks } from './place-checks.js';
import type { RoleBinding } from '../../cloud/google-project/port.js';

/**
 * Judges the facts for a `Wanted`, in the order in which a person would fix the problems. Without a login or the project, there
 * are no further findings: all other questions would fail in the same way.
 */
export function checks(facts: GoogleFacts, wanted: Wanted): readonly Finding[] {
  const { googleProject, rest } = facts;
  const first = accessChecks(facts, wanted);
  if (rest === undefined || isProjectMissing(first)) return first;
  const all = [
    ...first,
    ...bucketChecks(facts, rest.bucket, wanted),
    ...(rest.systemBucket === undefined ? [] : systemBucketChecks(facts, rest, rest.systemBucket, wanted)),
    ...(wanted.vms === undefined
      ? placeChecks(googleProject, rest, wanted)
      : vmChecks(googleProject, rest, { ...wanted, vms: wanted.vms })),
    ...networkChecks(googleProject, rest, wanted),
  ];
  return all.map((finding) => withMember(finding, memberOf(facts)));
}

const isProjectMissing = (findings: readonly Finding[]): boolean =>
  findings.some(({ check, state }) => check === 'project' && state === 'failed');

/** Puts the caller into the remedies: Google's refusals do not name the caller. */
function withMember(finding: Finding, member: string): Finding {
  if (finding.remedy === undefined) return finding;
  return { ...finding, remedy: finding.remedy.replaceAll(SOMEBODY, member) };
}

/** Checks without which no job could run: login, project, APIs, rights. */
export function accessChecks(facts: GoogleFacts, wanted: Wanted): readonly Finding[] {
  const { googleProject, rest } = facts;
  if (rest === undefined) return [credentialsCheck(facts)];
  const first = [credentialsCheck(facts), projectCheck(googleProject, rest)];
  if (isProjectMissing(first)) return first;
  return [
    ...first,
    ...serviceChecks(googleProject, rest),
    ...permissionChecks(facts, rest, permissionsOf(wanted)),
    serviceAccountCheck(facts, rest, wanted),
  ];
}

/** Checks that the system bucket can be used, and that hosts cannot write to it (docs/adr/0082). */

const CHECK = 'system bucket';
const WRITERS = 'system bucket writers';
const EVERYBODY: readonly string[] = ['allUsers', 'allAuthenticatedUsers'];
/**
 * Members of a bucket's policy that stand for all who have a basic role on the project. A new bucket's owners are the first two.
 */
const BASIC_ROLES: Readonly<Record<string, string>> = {
  projectEditor: 'roles/editor',
  projectOwner: 'roles/owner',
  projectViewer: 'roles/viewer',
};
const OWN_ACCOUNT = 'workers and servers that run as this account need one of their own first';

function systemBucketChecks(
  facts: GoogleFacts,
  rest: ProjectAnswers,
  bucket: SystemBucketAnswers,
  wanted: Wanted,
): readonly Finding[] {
  const url = `gs://${bucket.name}`;
  if (bucket.name === wanted.bucket)
    return [failed(CHECK, `${url} is the job bucket too, which hosts write`, 'make a second one: --system-bucket')];
  const rights = bucketRights(CHECK, facts, bucket, wanted);
  if (isMissing(bucket)) return rights;
  return [...rights, ...retentionChecks(bucket, url), ...writerChecks(facts.googleProject, rest, bucket)];
}

/** Fails if the bucket has a retention policy: workers replace objects in it, and Google then refuses that. */
function retentionChecks({ facts }: SystemBucketAnswers, url: string): readonly Finding[] {
  const seconds = facts.known ? facts.value?.retentionSeconds : undefined;
  if (seconds === undefined) return [];
  return [
    failed(
      CHECK,
      `${url} keeps each object unchanged for ${seconds} s (its retention policy), and workers replace objects there`,
      `run 'gcloud storage buckets update ${url} --clear-retention-period'; a retention policy is for store.auditBucket alone`,
    ),
  ];
}

function writerChecks(
  googleProject: string,
  { serviceAccount: host }: ProjectAnswers,
  { name, bindings, projectBindings }: SystemBucketAnswers,
): readonly Finding[] {
  if (!bindings.known) return [couldNotLook(WRITERS, bindings)];
  const url = `gs://${name}`;
  const own = writers(bindings.value ?? []);
  const everybody = own.filter(({ member }) => EVERYBODY.includes(member)).map((grant) => tooWide(url, grant));
  if (host === undefined) {
    const why = "the hosts' service account is not known; name it: --service-account";
    return [...everybody, warning(WRITERS, `could not look: ${why}`)];
  }
  const ofProject = projectBindings.known ? projectBindings.value : [];
  const ways = [
    ...everybody,
    ...own.filter(({ member }) => member === account(host)).map((grant) => hostWrites(url, host, url, grant)),
    ...throughBasicRoles(googleProject, host, own, ofProject).map((grant) => hostWrites(url, host, url, grant)),
    ...writers(ofProject)
      .filter(({ member }) => member === account(host))
      .map((grant) => hostWrites(url, host, `projects/${googleProject}`, grant)),
  ];
  // Unknown is never ok: the default account is an editor of many projects.
  if (!projectBindings.known) return [...ways, couldNotLook(WRITERS, projectBindings)];
  return ways.length > 0 ? ways : [ok(WRITERS, writtenBy(url, host, own))];
}

interface Grant {
  readonly role: string;
  readonly member: string;
}

const account = (email: string): string => `serviceAccount:${email}`;

/** Each member with a known role that lets it write objects. Custom roles are not examined. */
const writers = (bindings: readonly RoleBinding[]): readonly Grant[] =>
  bindings
    .filter(({ role }) => OBJECT_WRITER_ROLES.has(role))
    .flatMap(({ role, members }) => members.map((member) => ({ role, member })));

/** The bucket's grants to holders of a basic role, if the hosts' account is such a holder. */
function throughBasicRoles(
  googleProject: string,
  host: string,
  own: readonly Grant[],
  ofProject: readonly RoleBinding[],
): readonly Grant[] {
  return own.filter(({ member }) => {
    const [kind = '', project] = member.split(':');
    const basic = BASIC_ROLES[kind];
    return (
      project === googleProject &&
      ofProject.some(({ role, members }) => role === basic && members.includes(account(host)))
    );
  });
}

function tooWide(url: string, { role, member }: Grant): Finding {
  const who = member === 'allUsers' ? 'everybody on the internet' : 'everybody with a Google account';
  return failed(WRITERS, `${who} may write in ${url} (${member} has ${role})`, revoke(role, url, member));
}

function hostWrites(url: string, host: string, on: string, { role, member }: Grant): Finding {
  const by = member === account(host) ? `it has ${role} on ${on}` : `${member} has ${role} on ${on}`;
  return failed(
    WRITERS,
    `hosts, and so every job, may write in ${url}: they run as ${host}, and ${by}`,
    `${revoke(role, on, member)}; ${OWN_ACCOUNT}`,
  );
}

const revoke = (role: string, on: string, member: string): string =>
  `an owner runs '${revokeCommand(role, on, member)}'`;

function writtenBy(url: string, host: string, own: readonly Grant[]): string {
  const members = [...new Set(own.map(({ member }) => member))];
  const who = members.length === 0 ? 'nobody by its own policy' : members.join(', ');
  return `${url} is not written by hosts (${host}); who may write by its policy: ${who}`;
}
