import {
  bucketChecks,
  credentialsCheck,
  memberOf,
  permissionChecks,
  projectCheck,
  serviceAccountCheck,
  serviceChecks,
} from './access-checks.js';
import { SOMEBODY } from '../../cloud/google-project/roles.js';
import { type GoogleFacts, permissionsOf } from './facts.js';
import type { Finding } from './finding.js';
import { networkChecks } from './network-checks.js';
import { placeChecks } from './place-checks.js';
import { systemBucketChecks } from './system-bucket-checks.js';
import { vmChecks } from './vm-checks.js';
import type { Wanted } from './wanted.js';

/**
 * Judges the facts for what is wanted, in the order in which a person would fix them. Without a login, or without the project,
 * there is that alone: the other questions have the same answer.
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

/** Google's refusals do not say whose they are; we know. */
function withMember(finding: Finding, member: string): Finding {
  if (finding.remedy === undefined) return finding;
  return { ...finding, remedy: finding.remedy.replaceAll(SOMEBODY, member) };
}

/** Those without which no job could run, whatever it wants: login, project, APIs, rights. */
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
