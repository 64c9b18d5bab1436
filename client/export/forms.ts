import { type AfterActivities, followedSignal, otherEndedSignal } from '../../contract/after.js';
import { z } from 'zod';
import * as build from '../../contract/build.js';
import type { BuildActivities } from '../../contract/build.js';
import type { Form } from '../../contract/form.js';
import type { GroupActivities } from '../../contract/group.js';
import type { JobActivities } from '../../contract/job-activities.js';
import * as jobForms from '../../contract/job-forms.js';
import * as job from '../../contract/job.js';
import * as lodging from '../../contract/lodging.js';
import type { JobMemo } from '../../contract/job.js';
import { JOB_UPDATES, JOB_VERBS } from '../../contract/job-requests.js';
import type { QuotaActivities } from '../../contract/quota-activities.js';
import * as slice from '../../contract/slice.js';
import type { SliceActivities, SliceMemo } from '../../contract/slice.js';
import { WorkflowType } from '../../contract/workflow-ids.js';
import { jobFileJsonSchema } from '../../domain/job-file/sections.js';
import type { JobSearchAttribute } from '../../domain/temporal-server.js';

/** A form as JSON Schema, which can be traversed together with a value. */
export interface JsonForm {
  readonly properties?: Readonly<Record<string, JsonForm>>;
  readonly additionalProperties?: JsonForm | boolean;
  readonly items?: JsonForm;
  readonly anyOf?: readonly JsonForm[];
  readonly oneOf?: readonly JsonForm[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
}

/**
 * The form of a payload. `own`: only jobctl's own code writes it, so its field names tell the kinds of its values (fields.ts).
 * `removed`: it has no form, and all of it is removed.
 */
export type PayloadForm = JsonForm | 'own' | 'removed';

const inJson = (schema: z.ZodType): JsonForm =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonForm;
const of = <T>({ schema }: Form<T>): JsonForm => inJson(schema);

/** The form of a job file, with its alternatives. */
export const JOB_FILE: readonly JsonForm[] = [jobFileJsonSchema()];

/** The input of a job, in the shape that workflows/job/accept.ts checks. */
const jobInput = inJson(
  z.object({
    ...{ v: z.number(), job: z.unknown(), source: z.string(), user: z.string(), sshKey: z.string() },
    ...{ files: z.record(z.string(), z.string()), identityKeys: z.record(z.string(), z.string()) },
    member: z.object({
      ...{ group: z.string(), index: z.number(), round: z.number() },
      landlord: z.object({ id: z.string(), run: z.string() }),
    }),
    firing: z.object({ schedule: z.string(), at: z.number() }),
    ...{ authorization: z.unknown(), carry: z.unknown() },
  } satisfies Record<keyof job.JobInput, z.ZodType>),
);

export const JOB_INPUT: readonly JsonForm[] = [jobInput];

/** Forms of workflows' inputs, by workflow type. */
const WORKFLOWS: Readonly<Record<string, PayloadForm>> = {
  [WorkflowType.Job]: jobInput,
  [WorkflowType.Slice]: of(slice.sliceInputForm),
};

const SIGNALS: Readonly<Record<string, PayloadForm>> = {
  [job.grantedSignal.name]: of(jobForms.grantedForm),
  [job.revokedSignal.name]: of(jobForms.revokedForm),
  [job.prioritySignal.name]: of(jobForms.priorityNewsForm),
  [job.restateSignal.name]: of(jobForms.restateForm),
  [job.setUpProgressSignal.name]: of(jobForms.setUpProgressForm),
  [job.attemptTroubleSignal.name]: of(jobForms.attemptTroubleForm),
  [job.unreachableHostsSignal.name]: of(jobForms.unreachableHostsForm),
  [job.sliceNewsSignal.name]: of(jobForms.sliceNewsForm),
  [job.cancelNoteSignal.name]: of(jobForms.cancelNoteForm),
  [build.buildNewsSignal.name]: of(build.buildNewsForm),
  [build.buildLeftSignal.name]: of(build.buildLeftForm),
  [followedSignal.name]: of(jobForms.followedForm),
  [otherEndedSignal.name]: of(jobForms.otherEndedForm),
  [lodging.lodgeSignal.name]: of(jobForms.lodgeForm),
  [lodging.lodgeAnswerSignal.name]: of(jobForms.lodgeAnswerForm),
  [lodging.evictionSignal.name]: of(jobForms.evictionForm),
  [lodging.lodgerNewsSignal.name]: of(jobForms.lodgerNewsForm),
  [lodging.noLodgerSignal.name]: of(jobForms.noLodgerForm),
  [slice.releaseSliceSignal.name]: of(slice.releaseForm),
  [slice.giveUpSignal.name]: of(slice.giveUpForm),
  [slice.leaseAnswerSignal.name]: of(slice.leaseAnswerForm),
};

const UPDATES: Readonly<Record<string, PayloadForm>> = Object.fromEntries(
  JOB_VERBS.map((verb) => [JOB_UPDATES[verb].name, inJson(jobForms.JOB_CALL_FORMS[verb].schema)]),
);

/** Activities of jobs and slices, by name. Only jobctl's own code writes their inputs and results. */
const ACTIVITIES: Readonly<Record<OwnActivity, 'own'>> = {
  ...{ acceptJob: 'own', claimWorker: 'own', recordAttempt: 'own', recordOutcome: 'own', findDoneTwice: 'own' },
  findInputs: 'own',
  ...{ setUpHosts: 'own', setUpAgain: 'own', stopSetUp: 'own', superviseAttempt: 'own', stopAttempt: 'own' },
  ...{ runHook: 'own', holdSlices: 'own', joinBuild: 'own', sendLease: 'own', tellGroup: 'own' },
  ...{ lookAtOthers: 'own', isWaitedFor: 'own', cancelMembers: 'own' },
  ...{ createSlice: 'own', inspectSlice: 'own', awaitSlice: 'own', deleteUntilGone: 'own' },
  ...{ putAside: 'own', isJobOpen: 'own' },
};
type OwnActivity =
  | keyof AfterActivities
  | keyof JobActivities
  | keyof SliceActivities
  | keyof Pick<BuildActivities, 'joinBuild'>
  | keyof Pick<QuotaActivities, 'sendLease' | 'isWaitedFor'>
  | keyof Pick<GroupActivities, 'tellGroup' | 'cancelMembers'>;

/** Fields of the memos of jobs and slices. */
const MEMO: Readonly<Record<keyof JobMemo | keyof SliceMemo, 'own'>> = {
  ...{ name: 'own', slice: 'own', contentHash: 'own', run: 'own', isVerified: 'own', label: 'own' },
  ...{ submittedAt: 'own', attempts: 'own', phaseSince: 'own', why: 'own', outcome: 'own', keeps: 'own' },
  schedule: 'own',
  ...{ lease: 'own', demand: 'own', ref: 'own', tier: 'own', waitsUntil: 'own' },
};

/** For each search attribute, the field whose rule of redaction applies to it. */
export const SEARCH_ATTRIBUTES: Readonly<Record<JobSearchAttribute, string>> = {
  JobProject: 'project',
  JobUser: 'user',
  JobPhase: 'phase',
  JobAccelerator: 'accelerator',
  JobPool: 'pool',
  JobGroup: 'group',
};

const FORMS = { workflows: WORKFLOWS, signals: SIGNALS, updates: UPDATES, activities: ACTIVITIES, memo: MEMO } as const;

/** Returns the form by name; `removed` for a name that no job or slice uses. */
export function formOf(of: keyof typeof FORMS, name: string): PayloadForm {
  const forms: Readonly<Record<string, PayloadForm>> = FORMS[of];
  return (Object.hasOwn(forms, name) ? forms[name] : undefined) ?? 'removed';
}
