import { activityInfo, heartbeat, log, sleep } from '@temporalio/activity';
import { CloudRefused, type Machines, type RemoveAnswer } from '../cloud/machines/port.js';
import type { DeleteSliceInput } from '../contract/slice.js';
import { messageOf } from './failures.js';

/**
 * Nothing is left only when that was seen twice, apart, or once while the provider says that the removal is done (docs/adr/0051);
 * and not before `notBefore`. Machines of another owner stay. A removal looks itself before it deletes, so it is the first look.
 * Of a slice that nobody has ever accepted, a provider that refuses to look has nothing of it (docs/adr/0099).
 */
export async function deleteUntilGone(machines: Machines, input: DeleteSliceInput): Promise<void> {
  const { notBefore, timings } = input;
  const apartMs = Math.min(timings.notFoundApartMs, MISSING_PAUSE_MS);
  let missing = 0;
  let operation: string | undefined;
  for (let pauseMs = 300, isFirst = true; ; pauseMs = Math.min(pauseMs * 2, 10_000), isFirst = false) {
    heartbeat();
    let seen = isFirst ? 'present' : await lookBeforeRemoving(machines, input);
    if (seen === 'foreign') return;
    if (seen === 'refused' && input.isNeverAccepted) return;
    if (seen === 'present') {
      const answer = await remove(machines, input);
      // Of the last one: an earlier one says nothing of what is there after it.
      operation = answer?.kind === 'accepted' ? answer.operation : undefined;
      if (answer?.kind === 'gone') seen = 'missing';
    }
    missing = seen === 'missing' ? missing + 1 : 0;
    if (missing > 0) {
      const isProven = missing > 1 || (await isRemovedWithin(machines, operation, apartMs));
      if (isProven && Date.now() >= notBefore) return;
      if (isProven) await sleep(apartMs);
      continue;
    }
    await sleep(pauseMs);
  }
}

/** Between two looks at a name that does not exist. */
const MISSING_PAUSE_MS = 5_000;

/** Whether the provider says so within this time. Otherwise it takes all of it. */
async function isRemovedWithin(machines: Machines, operation: string | undefined, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let pauseMs = 100; operation !== undefined; pauseMs *= 2) {
    const removal = await machines.removal(operation).catch((error: unknown) => {
      log.warn(`asking for ${operation}: ${messageOf(error)}`);
      return 'under way' as const;
    });
    if (removal === 'done') return true;
    if (removal === 'unknown' || performance.now() + pauseMs >= end) break;
    await sleep(pauseMs);
  }
  await sleep(Math.max(1, end - performance.now()));
  return false;
}

async function lookBeforeRemoving(
  machines: Machines,
  { ref, owner }: DeleteSliceInput,
): Promise<'missing' | 'present' | 'deleting' | 'foreign' | 'refused' | 'unknown'> {
  try {
    const seen = await machines.observe({ ref, ownership: owner });
    if (seen.kind === 'foreign' || seen.kind === 'deleting') return seen.kind;
    return seen.kind === 'missing' && !seen.isRequestLeft ? 'missing' : 'present';
  } catch (error) {
    // Whatever it is (an expired token, an outage): it says nothing about the slice, and the chips still count as ours.
    log.warn(`looking for ${ref.name}: ${messageOf(error)}`, { attempt: activityInfo().attempt });
    return error instanceof CloudRefused ? 'refused' : 'unknown';
  }
}

/** Undefined: nobody knows what came of it. */
async function remove(machines: Machines, { ref, owner }: DeleteSliceInput): Promise<RemoveAnswer | undefined> {
  try {
    const answer = await machines.remove(ref, owner);
    if (answer.kind === 'refused' || answer.kind === 'unanswered') log.warn(`deleting ${ref.name}: ${answer.message}`);
    return answer;
  } catch (error) {
    log.warn(`deleting ${ref.name}: ${messageOf(error)}`);
    return undefined;
  }
}
