import {
  bucketChecks,
  credentialsCheck,
  permissionChecks,
  projectCheck,
  serviceAccountCheck,
  serviceChecks,
} from './access-checks.js';
import type { GoogleFacts } from './facts.js';
import type { Finding } from './finding.js';
import { networkChecks } from './network-checks.js';
import { placeChecks } from './place-checks.js';
import type { Wanted } from './wanted.js';

/** What the facts mean for what is wanted, in the order in which one would mend it. Without a login there is the login alone. */
export function checks(facts: GoogleFacts, wanted: Wanted): readonly Finding[] {
  const { googleProject, rest } = facts;
  return [
    ...accessChecks(facts),
    ...(rest === undefined ? [] : bucketChecks(facts, rest.bucket, wanted)),
    ...(rest === undefined ? [] : placeChecks(googleProject, rest, wanted)),
    ...(rest === undefined ? [] : networkChecks(googleProject, rest, wanted)),
  ];
}

/** Those without which no job could run, whatever it wants: login, project, APIs, rights. */
export function accessChecks(facts: GoogleFacts): readonly Finding[] {
  const { googleProject, rest } = facts;
  if (rest === undefined) return [credentialsCheck(facts)];
  return [
    credentialsCheck(facts),
    projectCheck(googleProject, rest),
    ...serviceChecks(googleProject, rest),
    ...permissionChecks(facts, rest),
    serviceAccountCheck(facts, rest),
  ];
}
