import { CHANGING_VERBS } from './changing.js';
import { CHECKING_VERBS, NOTIFY } from './checking.js';
import type { Verb } from './define-verb.js';
import { HOST_VERBS, STORED_VERBS } from './hosts.js';
import { IMPORT, STARTING_VERBS } from './starting.js';
import { LOOKING_VERBS } from './looking.js';
import { MACHINES, OPERATING_VERBS } from './operating.js';
import { PLACE_VERBS } from './places.js';
import { QUOTA } from './quota.js';
import { REHEARSAL } from './rehearsal.js';
import { SETUP } from './setup.js';
import { DEV, REHEARSE } from './stack.js';

/** All verbs, as help lists them. What else is known of verbs is read out of this list (docs/adr/0137). */
export const VERBS: readonly Verb[] = [
  ...STARTING_VERBS,
  ...LOOKING_VERBS,
  ...CHANGING_VERBS,
  IMPORT,
  ...HOST_VERBS,
  ...STORED_VERBS,
  ...PLACE_VERBS,
  QUOTA,
  MACHINES,
  NOTIFY,
  SETUP,
  ...CHECKING_VERBS,
  ...OPERATING_VERBS,
  DEV,
  REHEARSAL,
  REHEARSE,
];

/** The verb that a command line begins with: of `quota show --jobs` it is `show`. */
export function verbOf([first, ...rest]: readonly string[], among = VERBS): Verb | undefined {
  const verb = among.find(({ name }) => name === first);
  return verb?.verbs === undefined ? verb : (verbOf(rest, verb.verbs) ?? verb);
}
