import { setHandler } from '@temporalio/workflow';
import type { AttemptInput } from '../../activities/contract.js';
import { checkEdit } from '../../domain/job-file/edit.js';
import { DEFAULT_STOP_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { isDone, JobPhase } from '../../domain/job-state.js';
import { filesNotGiven, withFiles } from '../../domain/local-files.js';
import { formatPath } from '../../domain/problem.js';
import { mustBeForm, refusal } from '../human-call.js';
import {
  type EditCall,
  requeueUpdate,
  restartUpdate,
  resumeUpdate,
  type SetUpCall,
  setUpUpdate,
  type StopCall,
  stopUpdate,
  type HumanCall,
} from '../messages.js';
import { hoursText } from './keeping.js';
import type { SetUpAgain } from './set-up-again.js';
import type { JobTerms } from './terms.js';
import type { JobEdit, Wishes } from './wishes.js';

/** What people's calls need to know of the job. */
export interface JobInView {
  readonly id: string;
  readonly wishes: Wishes;
  readonly terms: JobTerms;
  readonly phase: () => JobPhase;
  /** All slices are there, under a lease that is held. */
  readonly holdsSlices: () => boolean;
  /** The command may run. */
  readonly isRunning: () => boolean;
  readonly again: SetUpAgain;
  /** On the slices that it holds. */
  readonly attemptInput: () => AttemptInput;
}

/**
 * People's calls of a job: `stop`, `resume`, `requeue`, `restart` (docs/job-states.md). A validator refuses what makes no sense in the
 * state that the job is in, so that a refusal leaves no trace; what is accepted is noted and will be done, whatever else happens.
 */
export function listenToPeople(job: JobInView): void {
  setHandler(stopUpdate, (call) => stop(job, call), {
    validator: (call: StopCall) => {
      mustBeForm(call);
      mustBeOpen(job);
    },
  });
  setHandler(resumeUpdate, (call) => resume(job, call), {
    validator: (call: EditCall) => {
      mustBeForm(call);
      mustBeOpen(job);
      mustBeStopped(job);
      editOf(job, call);
    },
  });
  setHandler(requeueUpdate, (call) => requeue(job, call), {
    validator: (call: HumanCall) => {
      mustBeForm(call);
      mustBeOpen(job);
      mustHaveSomething(job);
    },
  });
  setHandler(setUpUpdate, (call) => setUp(job, call), {
    validator: (call: SetUpCall) => {
      mustBeForm(call);
      mustBeReadyForSetUp(job);
      modulesOf(job, call);
    },
  });
  setHandler(restartUpdate, (call) => restart(job, call), {
    validator: (call: EditCall) => {
      mustBeForm(call);
      mustBeOpen(job);
      mustBeRestartable(job, call);
      editOf(job, call);
    },
  });
}

interface Answer {
  readonly message: string;
}

function stop({ id, wishes, terms, phase, holdsSlices, isRunning }: JobInView, call: StopCall): Answer {
  const before = wishes.current;
  if (before?.kind === 'stop' && (before.isRelease || call.release !== true))
    return { message: `job ${id} is ${stoppedPhase(phase())} already; \`jobctl resume ${id}\` goes on with it` };
  wishes.stop(call.by, call.release === true);
  const { graceSeconds, command, timeouts } = terms.spec;
  const grace = isRunning() && command !== undefined ? `its command has ${graceSeconds} s to save, then ` : '';
  const isKept = holdsSlices() && wishes.current?.kind === 'stop' && !wishes.current.isRelease;
  const kept = `its slices are kept for ${hoursText(timeouts?.stop ?? DEFAULT_STOP_SECONDS)} at most, and cost what they cost`;
  const then = isKept ? kept : 'it gives back what it has and asks for nothing';
  return { message: `job ${id} is being stopped: ${grace}${then}, until \`jobctl resume ${id}\`` };
}

function resume(job: JobInView, call: EditCall): Answer {
  const edit = editOf(job, call);
  const isHeld = job.phase() !== JobPhase.Released && job.holdsSlices();
  job.wishes.resume(edit);
  const where = isHeld ? 'on the slices that it has' : 'as soon as its pool grants it, with its first submit time';
  return { message: `job ${job.id} goes on ${where}${changedText(edit)}` };
}

function requeue({ id, wishes }: JobInView, { by }: HumanCall): Answer {
  if (wishes.current?.kind === 'requeue') return { message: `job ${id} is being requeued already` };
  wishes.requeue(by);
  return { message: `job ${id} gives slices and lease back and asks again, with its first submit time` };
}

function restart(job: JobInView, call: EditCall): Answer {
  const edit = editOf(job, call);
  job.wishes.restart(call.by, edit);
  const { graceSeconds, command } = job.terms.spec;
  const how =
    job.isRunning() && command !== undefined
      ? `its command has ${graceSeconds} s to save, then it starts again on the same slices`
      : 'its next attempt starts anew';
  return { message: `job ${job.id} is being restarted: ${how}${changedText(edit)}` };
}

function setUp(job: JobInView, call: SetUpCall): Answer {
  const modules = modulesOf(job, call);
  job.again.begin(job.attemptInput(), { modules, isForced: call.force === true }, call.by);
  const how = call.force === true ? 'whatever is there' : 'what is unchanged stays as it is';
  return {
    message: `job ${job.id}: ${modules.join(', ')} on all hosts, ${how}; \`jobctl logs ${job.id} --job -f\` shows its end`,
  };
}

const changedText = (edit: JobEdit | undefined): string => (edit === undefined ? '' : ', by the changed job file');

/** What is to be set up. `command` has nothing to set up. */
function modulesOf({ id, terms }: JobInView, { modules }: SetUpCall): readonly string[] {
  const known = terms.spec.modules.filter((module) => module !== 'command');
  if (known.length === 0) throw refusal(`job ${id} has no modules: there is nothing to set up`);
  if (modules === undefined) return known;
  if (!Array.isArray(modules) || modules.length === 0) throw refusal('modules: not a list of names');
  const unknown = modules.filter((module: string) => !known.includes(module));
  if (unknown.length > 0)
    throw refusal(`job ${id} has no module ${unknown.map(String).join(', ')}: it has ${known.join(', ')}`);
  return known.filter((module) => modules.includes(module));
}

// Refusals -----------------------------------------------------------------------------------------------------------

function mustBeOpen({ id, phase }: JobInView): void {
  const now = phase();
  if (now === JobPhase.Holding)
    throw refusal(
      `job ${id} has ended, and only keeps its slices: its outcome is final\n\`jobctl delete ${id}\` gives them back; submit the job again to run it again`,
    );
  if (now === JobPhase.Finishing || isDone(now))
    throw refusal(`job ${id} has ended: its outcome is final; submit it again to run it again`);
}

const READY_FOR_SET_UP: readonly JobPhase[] = [JobPhase.Running, JobPhase.Paused, JobPhase.Holding];

function mustBeReadyForSetUp({ id, phase, holdsSlices, again }: JobInView): void {
  const now = phase();
  if (!READY_FOR_SET_UP.includes(now) || !holdsSlices())
    throw refusal(
      `job ${id} is ${now}: its hosts can be set up again while it is ${READY_FOR_SET_UP.slice(0, -1).join(', ')} or ${READY_FOR_SET_UP.at(-1)}`,
    );
  if (again.isUnderWay)
    throw refusal(`job ${id} is being set up again already; \`jobctl logs ${id} --job -f\` shows its end`);
}

function mustBeStopped({ id, wishes, phase }: JobInView): void {
  if (wishes.current?.kind === 'stop') return;
  throw refusal(`job ${id} is ${phase()}, and nobody stopped it: there is nothing to resume`);
}

function mustHaveSomething({ id, wishes, phase }: JobInView): void {
  if (phase() === JobPhase.Released)
    throw refusal(`job ${id} holds nothing and asks for nothing: \`jobctl resume ${id}\` lets it ask again`);
  if (phase() === JobPhase.Queued && wishes.current === undefined)
    throw refusal(`job ${id} waits in line already; \`jobctl why ${id}\` says for what`);
}

function mustBeRestartable({ id, phase }: JobInView, call: EditCall): void {
  const now = phase();
  if (now === JobPhase.Released)
    throw refusal(
      `job ${id} has no slices to start on: \`jobctl resume ${id}\` asks for some, and takes the same changes`,
    );
  if ((now === JobPhase.Queued || now === JobPhase.Provisioning) && !isEdit(call))
    throw refusal(`job ${id} is ${now}: nothing of it runs yet that could be started again`);
}

const isEdit = ({ job, set }: EditCall): boolean => (job ?? undefined) !== undefined || (set?.length ?? 0) > 0;

/** @throws refusal of an edit that is wrong, with every problem */
function editOf({ id, terms, wishes }: JobInView, call: EditCall): JobEdit | undefined {
  if (!isEdit(call)) return undefined;
  const { job: file, set, source } = call;
  // An edit that waits to be put in force is what the next one changes.
  const present = wishes.edit ?? terms;
  const request = {
    ...(file === undefined || file === null ? {} : { job: file }),
    ...(set === undefined ? {} : { set }),
  };
  const checked = checkEdit({ id, job: present.job, spec: terms.spec }, request);
  if (!checked.ok) throw refusal(checked.message);
  const files = withFiles(present.files, call.files ?? {});
  const identityKeys = { ...present.identityKeys, ...call.identityKeys };
  mustHaveFiles(checked.spec, files);
  return {
    job: checked.job,
    spec: checked.spec,
    files,
    ...(Object.keys(identityKeys).length === 0 ? {} : { identityKeys }),
    source: source ?? `${JSON.stringify(checked.job, undefined, 2)}\n`,
  };
}

/** Set-up would find out, on slices that are paid for. */
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
