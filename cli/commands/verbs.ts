import type { Option } from 'commander';
import { CHANGING_VERBS } from './changing.js';
import { CHECKING_VERBS, NOTIFY } from './checking.js';
import { optionsOf, type Verb } from './define-verb.js';
import { HOST_VERBS, STORED_VERBS } from './hosts.js';
import { IMPORT, STARTING_VERBS } from './starting.js';
import { LOOKING_VERBS } from './looking.js';
import { MACHINES, OPERATING_VERBS, PROGRAM_VERBS } from './operating.js';
import { PLACE_VERBS } from './places.js';
import { QUOTA } from './quota.js';
import { REHEARSAL } from './rehearsal.js';
import { SCHEDULE } from './schedule.js';
import { SETUP } from './setup.js';
import { DEV, REHEARSE } from './stack.js';

/** The groups of verbs, in the order of help. */
export const VERB_GROUPS: readonly { readonly heading: string; readonly verbs: readonly Verb[] }[] = [
  { heading: 'Start a job:', verbs: [...STARTING_VERBS, SCHEDULE, IMPORT] },
  { heading: 'Look at jobs:', verbs: LOOKING_VERBS },
  { heading: 'Change jobs:', verbs: CHANGING_VERBS },
  { heading: 'Hosts and files of a job:', verbs: [...HOST_VERBS, ...STORED_VERBS] },
  { heading: 'Servers, logins and secrets:', verbs: PLACE_VERBS },
  { heading: 'Try without a cloud:', verbs: [DEV, REHEARSE, REHEARSAL] },
  { heading: 'Operate a pool:', verbs: [QUOTA, MACHINES, NOTIFY, SETUP, ...CHECKING_VERBS, ...OPERATING_VERBS] },
  { heading: 'This program:', verbs: PROGRAM_VERBS },
];

/** All verbs. Everything else about verbs is read from this list (docs/adr/0137). */
export const VERBS: readonly Verb[] = VERB_GROUPS.flatMap(({ verbs }) => verbs);

/** The verb that a command line names first: `show` for `quota show --jobs`. */
export function verbOf([first, ...rest]: readonly string[], among = VERBS): Verb | undefined {
  const verb = among.find(({ name }) => name === first);
  return verb?.verbs === undefined ? verb : (verbOf(rest, verb.verbs) ?? verb);
}

/** The flags of `submit`. A command line of another tool, such as `sbatch`, may contain them too. */
export function submitFlags(): readonly Option[] {
  const submit = verbOf(['submit']);
  return submit === undefined ? [] : optionsOf(submit);
}
