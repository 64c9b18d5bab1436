import { workflowInfo } from '@temporalio/workflow';
import { imageOf } from '../../domain/build/build.js';
import { podsOf, remoteBuildOf } from '../../domain/build/spec.js';
import { POD_SECTIONS } from '../../domain/job-file/sections.js';
import { type Cause, type Told, toldText } from '../../domain/job-events/kinds.js';
import { JobPhase, type Outcome } from '../../domain/job-state.js';
import { decide } from '../../domain/recovery/decide.js';
import type { Fact } from '../../domain/recovery/facts.js';
import type { Replaced } from '../../contract/job.js';
import { NO_PROJECT } from '../../quota/quota-config.js';
import { meter } from '../meter.js';
import { type InterruptedEnd, isPreemptionByQuota, revocationCause } from './interruption.js';
import type { Job } from './parts.js';
import { type Request, requestCause } from './requests.js';
import { holdsSlices } from './updates.js';

/**
 * One step of an open job (docs/recovery.md, "The pool or a person wants something").
 * @returns an outcome, or undefined: the job goes on
 */
export async function nextStep(job: Job): Promise<Outcome | undefined> {
  const { slices, requests, keeper, lease } = job;
  // A lodger replaces nothing: it asks its pool.
  if (lease.isLodged && !slices.isWhole) await leaveLodging(job);
  const request = requests.current;
  const step = stepDue(job);
  switch (step.do) {
    case 'wait for lease': {
      putEditInForce(job);
      const others = await waitForOthers(job);
      if (others !== 'ended') return others === 'unwanted' ? undefined : others;
      const inputs = await job.inputs.find(job.recovery, () => job.requests.current !== undefined);
      if (inputs !== 'there') return inputs === 'unwanted' ? undefined : inputs;
      const image = await buildImage(job);
      if (image === 'there') return waitForLease(job);
      return image === 'unwanted' ? undefined : image;
    }
    case 'use lease':
      if (!slices.isWhole) {
        putEditInForce(job);
        return provision(job);
      }
      await settle(job);
      return runAttempt(job);
    case 'save':
      // The attempt hears of the interruption, stops its command and ends.
      return runAttempt(job);
    case 'give back':
      if (step.to === 'pool') await giveBackToPool(job);
      else await giveBackFor(job, request, step.next === 'rest');
      return undefined;
    case 'pause':
      await settle(job);
      if (request) await keeper.pause(request);
      return undefined;
    case 'rest':
      job.wait.end();
      if (request) await keeper.rest(request);
      return undefined;
    case 'start anew':
      if (request) await startAnew(job, request);
      return undefined;
  }
}

const stepDue = (job: Job) =>
  decide('step due', {
    lease: job.lease.revocation === undefined ? 'stands' : 'revoked',
    request: requestFact(job.requests.current),
    command: job.attempt.isRunning && job.slices.isWhole ? 'may run' : 'ended',
    holds: holdsFact(job),
  });

function requestFact(request: Request | undefined): Fact<'step due', 'request'> {
  if (request === undefined) return 'none';
  return request.kind === 'stop' && request.isRelease ? 'stop --release' : request.kind;
}

function holdsFact(job: Job): Fact<'step due', 'holds'> {
  const { lease, slices } = job;
  if (holdsSlices(job)) return 'lease and all slices';
  if (lease.isHeld) return 'lease';
  return lease.isWanted || slices.present.length > 0 ? 'something' : 'nothing';
}

// Getting --------------------------------------------------------------------------------------------------------------

/** Looks at the others that the job waits for, once for each step, so that a long wait begins a new history now and then. */
async function waitForOthers(job: Job): Promise<'ended' | 'unwanted' | Outcome> {
  const { file, others, story, requests, recovery } = job;
  const { after } = file.spec;
  if (after === undefined && others.isLeft) {
    others.over();
    begins(job);
  }
  if (after === undefined || others.overAt !== undefined) return 'ended';
  const due = await others.look(after);
  switch (due.do) {
    case 'go':
      begins(job);
      return 'ended';
    case 'give up':
      return recovery.neverBegins(due.why);
    case 'wait': {
      const told = { kind: 'awaiting-others', facts: { awaited: due.awaited } } as const;
      if (story.phase === JobPhase.Queued && story.lastKind === told.kind) story.restate(told);
      else story.move(JobPhase.Queued, told);
      await others.news(() => requests.current !== undefined);
      return 'unwanted';
    }
  }
}

/** The job's wait for others is over: from now on it stands in line, and `timeouts.queue` counts. */
function begins({ lease, wait }: Job): void {
  lease.standsInLineSince(Date.now());
  wait.until();
}

/** Called before the job asks for its lease, so that no units of its pool wait for a build. */
async function buildImage({ file, image, attempt, requests, recovery, story }: Job) {
  const { spec, build } = file;
  const wanted = build && remoteBuildOf(build, podsOf(spec, POD_SECTIONS));
  if (build === undefined || wanted === undefined) return 'there';
  const end = await image.untilBuilt(wanted, attempt.number + 1, () => requests.current !== undefined);
  switch (end.kind) {
    case 'unwanted':
      return 'unwanted';
    case 'failed':
      return recovery.notBuilt(end.by, end.message, end.lines);
    case 'built':
      file.pin(end.digest, attempt.number + 1);
      story.note({ kind: 'image-built', facts: { image: imageOf({ ...build, digest: end.digest }) } });
      return 'there';
  }
}

export const queued = (project: string, isAgain: boolean): Told => ({
  kind: 'queued',
  facts: { ...(project !== NO_PROJECT && { project }), ...(isAgain && { isAgain }) },
});

/** Leaves the slices of another job, and the lease with them. */
async function leaveLodging({ slices, lease }: Job): Promise<void> {
  slices.leave();
  await lease.giveBack();
}

async function waitForLease({ settings, file, story, requests, lease, lodging, attempt, recovery, wait }: Job) {
  if (await lodging.enter()) return undefined;
  const askedAt = Date.now();
  const waitsUntil = wait.until();
  story.move(JobPhase.Queued, queued(settings.project, recovery.quotaPreemptions > 0 || attempt.number > 0));
  const isUnwanted = (): boolean => requests.current !== undefined;
  const isAnswered = await lease.acquire(isUnwanted, waitsUntil && Math.max(1, waitsUntil - askedAt));
  if (lease.isHeld) meter.queued(file.spec.pool, Date.now() - askedAt);
  return isAnswered ? undefined : recovery.waitedInVain('its pool granted nothing');
}

async function provision(job: Job): Promise<Outcome | undefined> {
  const { story, race, interruptions, recovery, moves, wait } = job;
  if (wait.isOver) return recovery.waitedInVain('its zones gave no chips');
  race.choose();
  race.waits({ patienceMs: moves.patienceMs, waitsUntil: wait.until() });
  story.move(JobPhase.Provisioning, race.where);
  const end = await race.bringUp(interruptions.isUnwanted);
  await settle(job);
  if (interruptions.isUnwanted() || end === undefined) return undefined;
  return end === 'in vain' ? recovery.waitedInVain('its zones gave no chips') : recovery.afterLoss(end);
}

/** If all slices are ready, ends requests elsewhere and the job's wait. */
async function settle({ slices, race, moves }: Job): Promise<void> {
  if (!slices.isWhole) return;
  await race.settle();
  moves.slicesReady();
}

/** Set-up and command. */
async function runAttempt(job: Job): Promise<Outcome | undefined> {
  const { lease, slices, attempts, recovery } = job;
  if (lease.isParked) await lease.park(false);
  putEditInForce(job);
  return recovery.afterAttempt(await attempts.run(slices.ready, (result) => recovery.facts(result)));
}

/**
 * Puts an edited file in force, so that a job that waits does so by the edited file. While an attempt is under way, its own file
 * stays in force.
 */
function putEditInForce({ requests, attempt, file, story }: Job): void {
  if (attempt.isOpen) return;
  const edit = requests.takeEdit();
  if (edit === undefined) return;
  const next = attempt.number + 1;
  file.change(edit, next);
  if (edit.spec.keep !== undefined) story.keeps();
  story.note({ kind: 'edited', facts: { attempt: next } });
}

// Giving back --------------------------------------------------------------------------------------------------------

/** Gives back for good, at the job's end. Slices are told to end, and are not waited for. */
export async function giveBack({ gang, lease }: Job, { result }: Outcome): Promise<void> {
  await gang.dismiss(`job ${workflowInfo().workflowId} ${result}`);
  await lease.letGo(result === 'succeeded');
}

/** Gives back the slices, and then the lease, because the pool counts the lease until its slices are gone. */
async function giveBackToPool(job: Job): Promise<void> {
  const { story, recovery, moves, race, lease } = job;
  const { revocation } = lease;
  if (revocation === undefined) throw new TypeError('a lease that was not revoked is not given back to the pool');
  const why = revocationCause(revocation);
  story.setBack(why);
  if (isPreemptionByQuota(revocation)) recovery.notePreemptionByQuota();
  const { tier } = lease;
  await letSlicesGo(job, why, 'revoked');
  // The zone that gave nothing cools down: another comes first.
  if (!isPreemptionByQuota(revocation)) race.leaveZone();
  if (revocation.cause === 'tier') moves.leaveTier(tier);
  // A person may have stopped the job meanwhile.
  const due = stepDue(job);
  await lease.giveBack(due.do === 'give back' && due.next === 'rest');
}

async function giveBackFor(job: Job, request: Request | undefined, isResting: boolean): Promise<void> {
  if (request === undefined) throw new TypeError('nobody asked for the slices to be given back');
  await letSlicesGo(job, requestCause(request), isResting ? 'stopped' : 'requeued');
  await job.lease.giveBack(isResting);
  if (!isResting) fulfil(job, request);
}

async function startAnew(job: Job, request: Request): Promise<void> {
  const { replace } = request.kind === 'restart' ? request : {};
  if (replace !== undefined) await letSlicesGo(job, requestCause(request), 'restarted', replace);
  // A request that ended a command is noted with its end. This one came when nothing was left to end or to give back.
  else if (request.kind === 'requeue' || job.story.phase === JobPhase.Paused) job.story.note(requestCause(request));
  fulfil(job, request);
}

/** The request is fulfilled: everything is given back, and the job asks anew. */
function fulfil({ race, requests }: Job, request: Request): void {
  if (request.kind === 'requeue' && request.zone !== undefined) race.begin(request.zone);
  requests.fulfilled(request);
}

async function letSlicesGo(job: Job, why: Cause, end: InterruptedEnd, which: Replaced = 'all'): Promise<void> {
  const { attempt, slices, story, gang, requests, wait, lease } = job;
  if (attempt.isOpen) attempt.close(end);
  if (lease.isLodged) {
    story.note(why);
    slices.leave();
    // The others give the lease back themselves.
    if (end === 'restarted') await lease.giveBack();
  } else if (slices.present.length > 0) {
    story.move(JobPhase.Evicting, why);
    const until = requests.current?.kind === 'stop' ? undefined : wait.until;
    await gang.evict(toldText(why), which === 'all' ? undefined : which, until);
  } else story.note(why);
}
