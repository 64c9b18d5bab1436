import { condition, defineQuery, defineSignal, setHandler, sleep } from '@temporalio/workflow';

/** Counts signals, and decides by the time at which each came: what must not be wrong. For early-query.live.test.ts. */
export async function waitsByTime(): Promise<void> {
  const seen: number[] = [];
  setHandler(defineSignal('wake'), () => void seen.push(Date.now()));
  setHandler(defineQuery('seen'), () => seen);
  for (let done = 0; ; done++) {
    await condition(() => seen.length > done);
    await sleep(1000);
  }
}
