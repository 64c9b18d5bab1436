import assert from 'node:assert/strict';
import type { Unlisted } from '../../client/export/fields.js';
import { formOf } from '../../client/export/forms.js';
import { Pseudonyms } from '../../client/export/pseudonyms.js';
import { redactValue } from '../../client/export/redact-value.js';
import type { BuildActivities } from '../../contract/build.js';
import * as after from '../../contract/after.js';
import type { AfterActivities } from '../../contract/after.js';
import * as build from '../../contract/build.js';
import * as group from '../../contract/group.js';
import type { GroupActivities } from '../../contract/group.js';
import type { JanitorActivities } from '../../contract/janitor.js';
import type { JobActivities } from '../../contract/job-activities.js';
import * as job from '../../contract/job.js';
import { JOB_UPDATES, JOB_VERBS } from '../../contract/job-requests.js';
import * as lodging from '../../contract/lodging.js';
import type { MachinesActivities } from '../../contract/machines.js';
import * as notices from '../../contract/notices.js';
import type { NoticesActivities } from '../../contract/notices.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import * as quota from '../../contract/quota.js';
import * as slice from '../../contract/slice.js';
import type { FiringActivities } from '../../contract/schedule.js';
import type { SliceActivities } from '../../contract/slice.js';
import type { WorkflowType } from '../../contract/workflow-ids.js';
import { OWN_SIGNALS, type OwnSignal } from '../../domain/temporal-server.js';
import type { JobCarry } from '../../workflows/job/state.js';

/**
 * `kept`: the payload has a form, by which it is redacted. `removed`: no history of a job or a slice has it. A new name has no row
 * here, and does not compile or fails.
 */
type Verdict = 'kept' | 'removed';

const WORKFLOWS: Readonly<Record<(typeof WorkflowType)[keyof typeof WorkflowType], Verdict>> = {
  job: 'kept',
  slice: 'kept',
  ...{ quota: 'removed', janitor: 'removed', machines: 'removed', build: 'removed', notices: 'removed' },
  ...{ group: 'removed', firing: 'removed' },
};
const SIGNALS: Readonly<Record<OwnSignal, Verdict>> = {
  ...{ granted: 'kept', revoked: 'kept', priority: 'kept', restate: 'kept', cancelNote: 'kept', sliceNews: 'kept' },
  ...{ setUpProgress: 'kept', attemptTrouble: 'kept', unreachableHosts: 'kept', buildNews: 'kept', buildLeft: 'kept' },
  ...{ release: 'kept', leaseAnswer: 'kept', giveUp: 'kept' },
  // It has no argument.
  attach: 'removed',
  ...{ leaseMessages: 'removed', wake: 'removed', buildWanted: 'removed', noticesWanted: 'removed' },
  memberNews: 'removed',
  ...{ followed: 'kept', otherEnded: 'kept' },
  ...{ lodge: 'kept', lodgeAnswer: 'kept', eviction: 'kept', lodgerNews: 'kept', noLodger: 'kept' },
};
const UPDATES: Readonly<Record<string, Verdict>> = {
  // The history of a job has each request of a person.
  ...Object.fromEntries(JOB_VERBS.map((verb) => [verb, 'kept' as const])),
  retry: 'removed',
  begin: 'removed',
  ...{ stopMembers: 'removed', resumeMembers: 'removed' },
  ...{ apply: 'removed', admission: 'removed', priority: 'removed', release: 'removed' },
};
const ACTIVITIES: Readonly<
  Record<
    | keyof JobActivities
    | keyof SliceActivities
    | keyof BuildActivities
    | keyof QuotaActivities
    | keyof JanitorActivities
    | keyof MachinesActivities
    | keyof NoticesActivities
    | keyof AfterActivities
    | keyof GroupActivities
    | keyof FiringActivities,
    Verdict
  >
> = {
  askMembers: 'removed',
  findInputs: 'kept',
  ...{ acceptJob: 'kept', claimWorker: 'kept', recordAttempt: 'kept', recordOutcome: 'kept', findDoneTwice: 'kept' },
  ...{ setUpHosts: 'kept', setUpAgain: 'kept', stopSetUp: 'kept', superviseAttempt: 'kept', stopAttempt: 'kept' },
  ...{ runHook: 'kept', holdSlices: 'kept', joinBuild: 'kept', sendLease: 'kept', tellGroup: 'kept' },
  ...{ lookAtOthers: 'kept', isWaitedFor: 'kept' },
  ...{ createSlice: 'kept', inspectSlice: 'kept', awaitSlice: 'kept', deleteUntilGone: 'kept' },
  ...{ putAside: 'kept', isJobOpen: 'kept' },
  ...{ createBuild: 'removed', findBuild: 'removed', awaitBuild: 'removed', deleteBuild: 'removed' },
  ...{ deliver: 'removed', loadPool: 'removed', readOpenWork: 'removed', findStrays: 'removed' },
  ...{ applyFiles: 'removed', writeHistory: 'removed', keepBook: 'removed', readBook: 'removed' },
  ...{ startMembers: 'removed', cancelMembers: 'kept', compareMembers: 'removed' },
  ...{ startFiring: 'removed', readRefusal: 'removed' },
  ...{ sweep: 'removed', operateMachines: 'removed', deliverNotice: 'removed' },
};

/** Names of the messages that a module of contract/ defines. */
const defined = (type: 'signal' | 'update'): string[] =>
  [job, JOB_UPDATES, slice, build, quota, notices, group, after, lodging].flatMap((module) =>
    Object.values(module as Readonly<Record<string, unknown>>).flatMap((each) => {
      const { type: its, name } = (typeof each === 'object' && each !== null ? each : {}) as {
        type?: string;
        name?: string;
      };
      return its === type && name !== undefined ? [name] : [];
    }),
  );

/** The compiler names what client/export/fields.ts does not list of all that a job carries to its next run. */
const CARRIED: [Unlisted<JobCarry>] extends [never] ? 'listed' : { readonly missing: Unlisted<JobCarry> } = 'listed';

describe('the payloads of an export', () => {
  it('list every word and map that a job carries', () => assert.equal(CARRIED, 'listed'));

  it('have a verdict for every message that contract/ defines', () => {
    assert.deepEqual(Object.keys(SIGNALS).toSorted(), OWN_SIGNALS.toSorted());
    assert.deepEqual(defined('signal').toSorted(), OWN_SIGNALS.toSorted());
    assert.deepEqual(Object.keys(UPDATES).toSorted(), defined('update').toSorted());
  });

  const tables = { workflows: WORKFLOWS, signals: SIGNALS, updates: UPDATES, activities: ACTIVITIES };
  for (const [of, verdicts] of Object.entries(tables) as [keyof typeof tables, Readonly<Record<string, Verdict>>][])
    for (const [name, verdict] of Object.entries({ ...verdicts, hushName: 'removed' as const }))
      it(`${of}: ${name} is ${verdict}`, () => {
        const form = formOf(of, name);
        assert.equal(form === 'removed' ? 'removed' : 'kept', verdict);
        const texts = JSON.stringify(
          redactValue({ hushKey: 'hushvalue', deep: [{ HushKey: 'hushvalue' }] }, new Pseudonyms(), form),
        );
        assert.doesNotMatch(texts, /hushvalue/);
        // A key that the form does not know is the user's. What only jobctl's own code writes has keys of types.
        if (form !== 'own') assert.doesNotMatch(texts, /hush/i);
      });

  it('of a text that is no JSON of ours are removed', () =>
    assert.match(JSON.stringify(redactValue('hush', new Pseudonyms(), 'removed')), /^"redacted 1"$/));
});
