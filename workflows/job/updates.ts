import type { UpdateDefinition } from '@temporalio/common';
import { setHandler } from '@temporalio/workflow';
import { filesNotGiven } from '../../domain/modules/set-up.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { DEFAULT_STOP_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { askedMachines, isBought } from '../../domain/machines.js';
import { reactionText, replacedText } from '../../domain/job-events/causes.js';
import { isDone, JobPhase } from '../../domain/job-state.js';
import { withFiles } from '../../domain/local-files.js';
import { formatPath, formatProblems } from '../../domain/problem.js';
import { durationText, utc } from '../../domain/units.js';
import { JOB_CALL_FORMS } from '../../contract/job-forms.js';
import type { JobSettings } from '../../contract/job.js';
import { type EditCall, JOB_UPDATES, type JobCall, type JobVerb } from '../../contract/job-requests.js';
import { choicesOf } from '../../domain/job-choices.js';
import { inputSizeProblem } from '../../domain/bounds.js';
import { notAllowed } from '../../quota/allowed.js';
import { mustBeForm, refusal, wrongFile } from '../inbox.js';
import { attemptInput, type AttemptParts } from './attempt.js';
import { type JobEdit, type JobFile, sourceOf } from './job-file.js';
import type { LeaseHold } from './lease.js';
import { personOf, type Requests } from './requests.js';
import type { RequestedSetUp } from './set-up.js';
import type { Slices } from './slices.js';
import type { JobStory } from './story.js';
import type { Wait } from './wait.js';

/** The parts of a job that people's updates read or change. */
interface UpdatedParts extends AttemptParts {
  readonly story: JobStory;
  readonly requests: Requests;
  readonly lease: LeaseHold;
  readonly slices: Slices;
  readonly requestedSetUp: RequestedSetUp;
  readonly wait: Wait;
}

/** Whether all slices are there, under a lease that is held. */
export const holdsSlices = ({ slices, lease }: Pick<UpdatedParts, 'slices' | 'lease'>): boolean =>
  slices.isWhole && lease.isHeld;

interface Answer {
  readonly message: string;
}

interface Handler<Verb extends JobVerb> {
  /** Throws a refusal if the call makes no sense in the state of the job. */
  readonly check: (job: UpdatedParts, call: JobCall<Verb>) => void;
  readonly take: (job: UpdatedParts, call: JobCall<Verb>) => Answer;
}

/** Calls that came before the job's first task are taken in this order. */
const HANDLERS: { readonly [Verb in JobVerb]: Handler<Verb> } = {
  stop: { check: mustBeOpen, take: stop },
  resume: {
    check: (job, call) => {
      mustBeOpen(job);
      mustBeStopped(job);
      mustBeTakeable(job, editOf(job, call));
    },
    take: resume,
  },
  requeue: {
    check: (job, call) => {
      mustBeOpen(job);
      mustHaveSomething(job, call);
      mustBeZone(job, call);
    },
    take: requeue,
  },
  setUp: {
    check: (job, call) => {
      mustBeReadyForSetUp(job);
      modulesOf(job, call);
    },
    take: setUp,
  },
  restart: {
    check: (job, call) => {
      mustBeOpen(job);
      mustBeRestartable(job, call);
      mustHaveSlices(job, call);
      mustBeTakeable(job, editOf(job, call));
    },
    take: restart,
  },
};

/**
 * Takes the requests of people to a job (docs/job-states.md). A validator refuses a call that makes no sense in the state of the
 * job, so that a refusal leaves no trace. An accepted call is noted and will be done, whatever else happens.
 */
export function takeUpdates(job: UpdatedParts): void {
  for (const verb of Object.keys(HANDLERS) as JobVerb[]) takeUpdate(job, verb);
}

function takeUpdate<Verb extends JobVerb>(job: UpdatedParts, verb: Verb): void {
  const { check, take } = HANDLERS[verb];
  const update: UpdateDefinition<Answer, [JobCall<Verb>]> = JOB_UPDATES[verb];
  setHandler(update, (call: JobCall<Verb>) => take(job, call), {
    validator: (call: JobCall<Verb>) => {
      mustBeForm(JOB_CALL_FORMS[verb], call);
      check(job, call);
    },
  });
}

function stop(job: UpdatedParts, call: JobCall<'stop'>): Answer {
  const { id } = job.job;
  const { requests, story, attempt, file } = job;
  const before = requests.current;
  if (before?.kind === 'stop' && (before.isRelease || call.release !== true))
    return { message: `job ${id} is ${stoppedPhase(story.phase)} already; \`jobctl resume ${id}\` goes on with it` };
  requests.stop(call, call.release === true);
  const { graceSeconds, command, timeouts } = file.spec;
  const grace =
    attempt.isRunning && command !== undefined ? `${reactionText(attempt.saving(graceSeconds))}, then ` : '';
  const isKept = holdsSlices(job) && requests.current?.kind === 'stop' && !requests.current.isRelease;
  const kept = `its slices are kept for ${durationText(timeouts?.stop ?? DEFAULT_STOP_SECONDS)} at most${isBought(file.spec) ? ', and cost what they cost' : ''}`;
  const then = isKept ? kept : 'it gives back what it has and asks for nothing';
  return { message: `job ${id} is being stopped: ${grace}${then}, until \`jobctl resume ${id}\`` };
}

function resume(job: UpdatedParts, call: EditCall): Answer {
  const edit = editOf(job, call);
  const isHeld = job.story.phase !== JobPhase.Released && holdsSlices(job);
  job.requests.resume(edit);
  job.story.note({ kind: 'resumed', facts: personOf(call) });
  const where = isHeld ? 'on the slices that it has' : 'as soon as its pool grants it, with its first submit time';
  return { message: `job ${job.job.id} goes on ${where}${changedText(edit)}` };
}

function requeue({ job: { id }, requests }: UpdatedParts, call: JobCall<'requeue'>): Answer {
  const { current } = requests;
  if (current?.kind === 'requeue' && (call.zone === undefined || call.zone === current.zone))
    return { message: `job ${id} is being requeued already` };
  requests.requeue(call, call.zone);
  const where = call.zone === undefined ? '' : `, in ${call.zone} first`;
  return { message: `job ${id} gives slices and lease back and asks again${where}, with its first submit time` };
}

function restart(job: UpdatedParts, call: JobCall<'restart'>): Answer {
  const edit = editOf(job, call);
  const { graceSeconds, command, atomic } = job.file.spec;
  // Slices that were asked for in one request are replaced together.
  job.requests.restart(call, edit, atomic && call.replace !== undefined ? 'all' : call.replace);
  const { current } = job.requests;
  const replace = current?.kind === 'restart' ? current.replace : undefined;
  const where = replace === undefined ? 'on the same slices' : `with ${replacedText(replace)}`;
  const elsewhere = replace === undefined ? '' : ` ${where}`;
  if (isWaiting(job)) {
    const how = edit === undefined || replace !== undefined ? `: its next attempt starts anew${elsewhere}` : '';
    const until = edit === undefined ? '' : waitText(job);
    return { message: `job ${job.job.id} keeps waiting${how}${changedText(edit)}${until}` };
  }
  const how =
    job.attempt.isRunning && command !== undefined
      ? `${reactionText(job.attempt.saving(graceSeconds))}, then it starts again ${where}`
      : `its next attempt starts anew${elsewhere}`;
  return { message: `job ${job.job.id} is being restarted: ${how}${changedText(edit)}` };
}

function setUp(job: UpdatedParts, call: JobCall<'setUp'>): Answer {
  const modules = modulesOf(job, call);
  const { id } = job.job;
  const input = attemptInput(job, job.slices.ready);
  job.requestedSetUp.begin(input, { modules, isForced: call.force === true }, personOf(call));
  const how = call.force === true ? 'whatever is there' : 'what is unchanged stays as it is';
  return {
    message: `job ${id}: ${modules.join(', ')} on all hosts, ${how}; \`jobctl logs ${id} --job -f\` shows its end`,
  };
}

const changedText = (edit: JobEdit | undefined): string => (edit === undefined ? '' : ', by the changed job file');

/** Whether the job waits, so that a restart ends nothing. */
const isWaiting = ({ story: { phase } }: UpdatedParts): boolean =>
  phase === JobPhase.Queued || phase === JobPhase.Provisioning || phase === JobPhase.Evicting;

/** Says how long a job that waits for chips may wait by the edited file. */
function waitText({ wait: { endsAt, laterSeconds } }: UpdatedParts): string {
  if (laterSeconds !== undefined)
    return `; from when it stands in line it waits for chips for ${durationText(laterSeconds)} at most (timeouts.queue)`;
  const until = endsAt === undefined ? 'without an end' : `until ${utc(endsAt)} at most`;
  return `; it waits for chips ${until} (timeouts.queue${endsAt === undefined ? ' is not set' : ''})`;
}

/** The modules to set up. `command` is left out, because it has nothing to set up. */
function modulesOf({ job: { id }, file }: UpdatedParts, { modules }: JobCall<'setUp'>): readonly string[] {
  const known = file.spec.modules.filter((module) => module !== 'command');
  if (known.length === 0) throw refusal(`job ${id} has no modules: there is nothing to set up`);
  if (modules === undefined) return known;
  const unknown = modules.filter((module) => !known.includes(module));
  if (unknown.length > 0) throw refusal(`job ${id} has no module ${unknown.join(', ')}: it has ${known.join(', ')}`);
  return known.filter((module) => modules.includes(module));
}

// Refusals -----------------------------------------------------------------------------------------------------------

function mustBeOpen({ job: { id }, story: { phase: now } }: UpdatedParts): void {
  if (now === JobPhase.Holding)
    throw refusal(
      `job ${id} has ended, and only keeps its slices: its outcome is final\n\`jobctl delete ${id}\` gives them back; submit the job again to run it again`,
    );
  if (now === JobPhase.Finishing || isDone(now))
    throw refusal(`job ${id} has ended: its outcome is final; submit it again to run it again`);
}

const READY_FOR_SET_UP: readonly JobPhase[] = [JobPhase.Running, JobPhase.Paused, JobPhase.Holding];

function mustBeReadyForSetUp(job: UpdatedParts): void {
  const { id } = job.job;
  const now = job.story.phase;
  if (!READY_FOR_SET_UP.includes(now) || !holdsSlices(job))
    throw refusal(
      `job ${id} is ${now}: its hosts can be set up again while it is ${READY_FOR_SET_UP.slice(0, -1).join(', ')} or ${READY_FOR_SET_UP.at(-1)}`,
    );
  if (job.requestedSetUp.isUnderWay)
    throw refusal(`job ${id} is being set up again already; \`jobctl logs ${id} --job -f\` shows its end`);
}

function mustBeTakeable({ job: { id }, settings, wait }: UpdatedParts, edit: JobEdit | undefined): void {
  mustBeUnderRules(edit, settings);
  const problem = edit && wait.problemOf(edit.spec, id);
  if (problem !== undefined) throw refusal(formatProblems([problem]));
}

function mustBeStopped({ job: { id }, requests, story }: UpdatedParts): void {
  if (requests.current?.kind === 'stop') return;
  throw refusal(`job ${id} is ${story.phase}, and nobody stopped it: there is nothing to resume`);
}

function mustHaveSomething({ job: { id }, requests, story }: UpdatedParts, { zone }: JobCall<'requeue'>): void {
  if (story.phase === JobPhase.Released)
    throw refusal(`job ${id} holds nothing and asks for nothing: \`jobctl resume ${id}\` lets it ask again`);
  if (story.phase === JobPhase.Queued && requests.current === undefined && zone === undefined)
    throw refusal(`job ${id} waits in line already; \`jobctl why ${id}\` says for what`);
}

function mustBeRestartable({ job: { id }, story: { phase: now } }: UpdatedParts, call: JobCall<'restart'>): void {
  if (now === JobPhase.Released)
    throw refusal(
      `job ${id} has no slices to start on: \`jobctl resume ${id}\` asks for some, and takes the same changes`,
    );
  if ((now === JobPhase.Queued || now === JobPhase.Provisioning) && (!isEdit(call) || call.replace !== undefined))
    throw refusal(`job ${id} is ${now}: nothing of it runs yet that could be started again`);
}

function mustBeZone({ job: { id }, file }: UpdatedParts, { zone }: JobCall<'requeue'>): void {
  const { zones, isAnyZone } = askedMachines(file.spec);
  if (zone === undefined || zones.includes(zone)) return;
  const named = `${isAnyZone ? "its pool's are" : 'its job file names'} ${zones.join(', ')}`;
  const known = zones.length === 0 ? 'it names no zone' : named;
  throw refusal(`job ${id} is not asked for in '${zone}': ${known}`);
}

function mustHaveSlices({ job: { id }, file }: UpdatedParts, { replace }: JobCall<'restart'>): void {
  if (replace === undefined || replace === 'all') return;
  const unknown = replace.find((index) => index >= file.spec.slices);
  if (unknown === undefined) return;
  throw refusal(
    `job ${id} has no slice ${unknown}: its slices are ${file.spec.slices === 1 ? '0 alone' : `0 to ${file.spec.slices - 1}`}`,
  );
}

const isEdit = ({ job, set }: EditCall): boolean => (job ?? undefined) !== undefined || (set?.length ?? 0) > 0;

/** @throws refusal that lists every problem of the edited file */
function editOf({ job: { id }, file: inForce, requests }: UpdatedParts, call: EditCall): JobEdit | undefined {
  if (!isEdit(call)) return undefined;
  const { job: file, set, source } = call;
  // The next edit changes an edit that waits to be put in force.
  const present = requests.edit ?? inForce;
  const request = {
    ...(file === undefined || file === null ? {} : { job: file }),
    ...(set === undefined ? {} : { set }),
  };
  const checked = checkEdit({ id, job: present.job, spec: inForce.spec }, request);
  if (!checked.ok) throw checked.isWrong ? wrongFile(checked.message) : refusal(checked.message);
  mustHaveImage(inForce, checked.job);
  const files = withFiles(present.files, call.files ?? {});
  const identityKeys = { ...present.identityKeys, ...call.identityKeys };
  mustHaveFiles(checked.spec, files);
  return {
    job: checked.job,
    spec: checked.spec,
    files,
    ...(Object.keys(identityKeys).length === 0 ? {} : { identityKeys }),
    source: source ?? sourceOf(checked.job),
  };
}

/** The image of an edit must have been built before. Only the one that is being built for the job may be missing. */
function mustHaveImage(inForce: JobFile, job: unknown): void {
  if (inForce.lacksImage(job))
    throw refusal(
      'build: an open job takes an image that is there: `jobctl restart --file` builds it on your computer, a service names build.digest',
    );
}

/** Checked here, because set-up would only find out on slices that are paid for. */
function mustHaveFiles(spec: JobSpec, files: Readonly<Record<string, string>>): void {
  const missing = filesNotGiven(spec, files);
  if (missing.length === 0) return;
  const lines = missing.map(({ path, at }) => `${formatPath(at)}: ${path} was not given with the job`);
  const byFlag = missing.every(({ kind }) => kind === 'bundle') ? ', or the bundle alone (--bundle DIR)' : '';
  throw refusal(
    [...lines, `  name the whole job file (--file), which brings the files that it names${byFlag}`].join('\n'),
  );
}

const stoppedPhase = (phase: JobPhase): string =>
  phase === JobPhase.Paused || phase === JobPhase.Released ? phase : 'being stopped';

/**
 * Applies the pool's rules that a job was accepted under to an edit of it. Only validators call it: an edit that a history has
 * taken is not judged again (docs/adr/0075).
 * @throws refusal
 */
function mustBeUnderRules(edit: JobEdit | undefined, { allowed, limits }: JobSettings): void {
  if (edit === undefined) return;
  const { spec, ...carried } = edit;
  const size = inputSizeProblem(carried, limits?.inputBytes);
  if (size !== undefined) throw refusal(size);
  const problems = allowed === undefined ? [] : notAllowed(allowed, choicesOf(spec));
  if (problems.length > 0) throw refusal(formatProblems(problems));
}
