import assert from 'node:assert/strict';
import type { Verb } from '../../cli/commands/define-verb.js';
import { VERBS } from '../../cli/commands/verbs.js';
import { type OperationName, OPERATIONS } from '../../contract/operations.js';

/** The command of an operation that is not called by its own name or by that of its right. */
const SAID: Readonly<Partial<Record<OperationName, string>>> = {
  secretNames: 'secret ls',
  describe: 'status',
  describeGroup: 'status',
  listGroups: 'list',
  retryGroup: 'retry',
  beginGroup: 'restart',
  ...{ stopGroup: 'stop', resumeGroup: 'resume', groupPriority: 'quota set-priority' },
  createSchedule: 'schedule create',
  schedules: 'schedule ls',
  schedule: 'schedule status',
  pauseSchedule: 'schedule pause',
  resumeSchedule: 'schedule resume',
  triggerSchedule: 'schedule trigger',
  deleteSchedule: 'schedule delete',
  hostAccess: 'ssh',
  report: 'report usage',
  ...{ beginLogin: 'login', endLogin: 'login' },
  ...{ pageSession: 'ui', groupMembers: 'status', board: 'list', poolUse: 'top', poolHistory: 'quota history' },
  ...{ objects: 'download', objectStat: 'download', objectContent: 'download' },
  ...{ uploads: 'submit', completeUpload: 'submit', uploadContent: 'submit' },
  admission: 'quota freeze',
  priority: 'quota set-priority',
  ...{ machines: 'machines ls', changeMachines: 'machines drain' },
  audit: 'audit log',
  accessExplain: 'access explain',
};

/** Commands that do something. */
const wordsOf = (verbs: readonly Verb[], above = ''): readonly string[] =>
  verbs.flatMap(({ name, run, verbs: below = [] }) => [
    ...(run === undefined ? [] : [`${above}${name}`]),
    ...wordsOf(below, `${above}${name} `),
  ]);

describe('the command line', () => {
  const known = new Set(wordsOf(VERBS));

  for (const [name, { access }] of Object.entries(OPERATIONS))
    it(`has a command for the operation ${name}`, () => {
      const words = [name, access, access.replace('-', ' ')].filter((each) => known.has(each));
      const said = SAID[name as OperationName];
      // A row of the table that a name makes needless hides that the command is gone.
      if (said === undefined) assert.notDeepEqual(words, [], `neither \`jobctl ${name}\` nor \`jobctl ${access}\``);
      else assert.ok(known.has(said) && !known.has(name), said);
    });
});
