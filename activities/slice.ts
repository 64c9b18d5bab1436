import { activityInfo, cancellationSignal, heartbeat, log, sleep, Context } from '@temporalio/activity';
import { CloudUnavailable, type TpuPort } from '../cloud/tpu/port.js';
import { type SliceCondition, sliceCondition } from '../domain/slice-condition.js';
import type { AwaitSliceInput, DeleteSliceInput, SliceActivities } from './contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { messageOf, translated } from './failures.js';
import { isChainOpen } from './workflow-lookup.js';

export function sliceActivities({ tpu }: ActivityDependencies): SliceActivities {
  return {
    createSlice: (plan) => translated(() => tpu.createSlice(plan)),
    inspectSlice: ({ ref, ownership, operation }) =>
      translated(async () => sliceCondition(await tpu.observeSlice(ref, operation), ownership)),
    awaitSlice: (input) => translated(() => awaitSlice(tpu, input)),
    deleteUntilGone: (input) => deleteUntilGone(tpu, input),
    isJobOpen: (job) => isChainOpen(Context.current().client, job),
  };
}

/** Ends with the first condition that the slice workflow has to know of. A failed call is no news. */
async function awaitSlice(tpu: TpuPort, input: AwaitSliceInput): Promise<SliceCondition> {
  let missing = 0;
  for (let look = 0; ; look++) {
    heartbeat();
    const condition = await patiently(() => nextLook(tpu, input, look));
    if (!condition || condition.kind === 'waiting') continue;
    if (condition.kind !== 'missing') return condition;
    // From a listing it is no evidence yet: two direct looks, apart.
    missing = (await isMissingNow(tpu, input)) ? missing + 1 : 0;
    if (missing >= 2) return condition;
    await sleep(input.timings.notFoundApartMs);
  }
}

/** The first seconds by direct looks, since many slices are there at once; then with everybody else, by the zone's listing. */
async function nextLook(
  tpu: TpuPort,
  { ref, ownership, operation }: AwaitSliceInput,
  look: number,
): Promise<SliceCondition> {
  const early = EARLY_LOOKS_MS[look];
  if (early !== undefined) {
    await sleep(early);
    return sliceCondition(await tpu.observeSlice(ref, operation), ownership);
  }
  const options = { isUrgent: true, signal: cancellationSignal(), ...(operation === undefined ? {} : { operation }) };
  return sliceCondition(await tpu.watchSlice(ref, options), ownership);
}

const EARLY_LOOKS_MS = [0, 150, 300, 600, 1000];

async function isMissingNow(tpu: TpuPort, { ref, ownership, operation }: AwaitSliceInput): Promise<boolean> {
  const seen = await patiently(async () => sliceCondition(await tpu.observeSlice(ref, operation), ownership));
  return seen?.kind === 'missing';
}

/** Undefined: the API could not be asked. Says nothing about the slice. */
async function patiently<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof CloudUnavailable)) throw error;
    log.warn(`Cloud TPU cannot be asked: ${error.message}`);
    await sleep(API_PAUSE_MS);
    return undefined;
  }
}

const API_PAUSE_MS = 2_000;

/** NOT_FOUND twice, apart, and not before `notBefore`: only then is it gone. What is not ours is left alone. */
async function deleteUntilGone(tpu: TpuPort, input: DeleteSliceInput): Promise<void> {
  const { ref, ownership, notBefore, timings } = input;
  let missing = 0;
  for (let pauseMs = 300; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
    heartbeat();
    const seen = await lookBeforeDeleting(tpu, input);
    if (seen === 'foreign') return;
    missing = seen === 'missing' ? missing + 1 : 0;
    if (missing >= 2 && Date.now() >= notBefore) return;
    if (seen === 'present') await askToDelete(tpu, ref, ownership);
    await sleep(seen === 'missing' ? Math.min(timings.notFoundApartMs, MISSING_PAUSE_MS) : pauseMs);
  }
}

/** Between two looks at a name that is not there. */
const MISSING_PAUSE_MS = 5_000;

async function lookBeforeDeleting(
  tpu: TpuPort,
  { ref, ownership }: DeleteSliceInput,
): Promise<'missing' | 'present' | 'foreign' | 'unknown'> {
  try {
    const { queuedResource, node } = await tpu.observeSlice(ref);
    const resources = [queuedResource, node].filter((resource) => typeof resource === 'object');
    if (resources.length === 0) return 'missing';
    const isOurs = resources.every((resource) => {
      const { owner, job, run } = resource.ownership ?? {};
      return owner === ownership.owner && job === ownership.job && run === ownership.run;
    });
    return isOurs ? 'present' : 'foreign';
  } catch (error) {
    // Whatever it is (a token that expired, an API that is away): it says nothing, and the chips are still ours.
    log.warn(`looking for ${ref.name}: ${messageOf(error)}`, { attempt: activityInfo().attempt });
    return 'unknown';
  }
}

async function askToDelete(
  tpu: TpuPort,
  ref: DeleteSliceInput['ref'],
  ownership: DeleteSliceInput['ownership'],
): Promise<void> {
  try {
    const answer = await tpu.deleteSlice(ref, ownership);
    if (answer.kind === 'refused' || answer.kind === 'unanswered') log.warn(`deleting ${ref.name}: ${answer.message}`);
  } catch (error) {
    log.warn(`deleting ${ref.name}: ${messageOf(error)}`);
  }
}
