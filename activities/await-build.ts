import { Writable } from 'node:stream';
import { activityInfo, cancellationSignal, heartbeat, log, sleep } from '@temporalio/activity';
import { messageOf } from '../domain/errors.js';
import type { Builds, OwnedBuild, BuildPlace } from '../cloud/builds/port.js';
import type { AwaitBuildInput, BuildWaiter, DeleteBuildInput } from '../contract/build.js';
import type { BuildCondition, BuildEnd, BuildPod } from '../domain/build/spec.js';
import { wholeTimings } from '../domain/timings.js';
import { CloudRefused } from '../cloud/machines/port.js';
import { BUILD_STREAM, logPrefix } from '../domain/store-layout.js';
import { type Shipping, LogStream } from './attempt/log-stream.js';
import { followsOf } from './attempt/followed-jobs.js';
import { pause } from './attempt/activity-end.js';

/** The jobs that a build is for. */
export interface BuildAudience {
  readonly waiters: () => Promise<readonly BuildWaiter[]>;
  /** Tells the text that lists and `why` show of it. */
  readonly tell: (detail: string) => void;
}

interface AwaitedBuild extends AwaitBuildInput {
  readonly owned: OwnedBuild;
  readonly audience: BuildAudience;
}

interface Outside {
  readonly builds: Builds;
  readonly shipping: Shipping;
}

/** Pauses between two looks, at first and later. A look is two reads and a query. */
const LOOK_MS = 500;
const LONGEST_LOOK_MS = 3_000;
/** Shortest time between two messages to a job: each is three events of its history. */
const TOLD_APART_MS = 10_000;

/** Watches a try until it has ended, and ships its output. A failed call is not an answer. */
export async function awaitBuild({ builds, shipping }: Outside, of: AwaitedBuild): Promise<BuildEnd> {
  const { owned, audience, number, timings } = of;
  const printed = new BuildLog({ builds, shipping }, { place: owned.build, number, signal: cancellationSignal() });
  const tell = rarely(audience.tell);
  let missing = 0;
  const judge = (seen: BuildCondition): BuildEnd | undefined => {
    if ('pod' in seen && seen.pod) printed.read(seen.pod);
    missing = seen.kind === 'missing' ? missing + 1 : 0;
    if (seen.kind === 'waiting') tell(seen.detail);
    if (seen.kind === 'running') tell(`pod ${seen.pod.name} runs`);
    // One look that misses it is not evidence yet.
    return isEnd(seen) && (seen.kind !== 'missing' || missing > 1) ? seen : undefined;
  };
  for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(pauseMs * 1.3, LONGEST_LOOK_MS)) {
    heartbeat();
    const seen = await lookAtBuild(builds, owned);
    await printed.serve(await audience.waiters());
    const end = typeof seen === 'string' ? tell(seen) : judge(seen);
    if (end !== undefined) {
      await printed.end();
      return end;
    }
    await sleep(missing > 0 ? timings.notFoundApartMs : pauseMs);
  }
}

const isEnd = (seen: BuildCondition): seen is BuildEnd =>
  seen.kind !== 'waiting' && seen.kind !== 'running' && seen.kind !== 'deleting';

function rarely(tell: (detail: string) => void): (detail: string) => undefined {
  let [told, toldAt] = ['', -Infinity];
  return (detail) => {
    if (detail === told || Date.now() - toldAt < TOLD_APART_MS) return undefined;
    [told, toldAt] = [detail, Date.now()];
    tell(detail);
    return undefined;
  };
}

/** Returns a sentence if the condition is not known, because the cluster does not answer or does not let this worker look. */
export async function lookAtBuild(builds: Builds, owned: OwnedBuild): Promise<BuildCondition | string> {
  try {
    return await builds.observe(owned);
  } catch (error) {
    log.warn(`looking at the build's Job: ${messageOf(error)}`);
    return `the cluster does not say how it is: ${messageOf(error)}`;
  }
}

/**
 * Deletes the Job. It is gone when it was missing in two looks, some time apart, and not before `notBefore`. A Job of another
 * owner stays. A cluster that refuses to look, removes nothing or never ends removing is asked for `giveBackMs`: a build holds no
 * chips, its Job has a deadline and is removed by the cluster itself, and the next job that wants the same image waits for this
 * (docs/adr/0099).
 */
export async function deleteBuild(
  builds: Builds,
  owned: OwnedBuild,
  { notBefore, timings }: DeleteBuildInput,
): Promise<void> {
  let missing = 0;
  const { giveBackMs } = wholeTimings(timings);
  const giveUpAt = Math.max(activityInfo().scheduledTimestampMs, notBefore) + giveBackMs;
  for (let pauseMs = 300; ; pauseMs = Math.min(pauseMs * 2, 10_000)) {
    heartbeat();
    const seen = await lookBeforeRemoving(builds, owned);
    if (seen === 'foreign') return;
    missing = seen === 'missing' ? missing + 1 : 0;
    if (missing > 1 && Date.now() >= notBefore) return;
    if (seen === 'present') await remove(builds, owned);
    if (missing === 0 && Date.now() >= giveUpAt) {
      log.warn(
        `the build's Job may be left: it was not seen gone for ${Math.round(giveBackMs / 1000)} s, last seen ${seen}`,
      );
      return;
    }
    await sleep(missing > 0 ? timings.notFoundApartMs : pauseMs);
  }
}

async function lookBeforeRemoving(
  builds: Builds,
  owned: OwnedBuild,
): Promise<'missing' | 'present' | 'deleting' | 'foreign' | 'unknown'> {
  const seen = await lookAtBuild(builds, owned);
  if (typeof seen === 'string') return 'unknown';
  const { kind } = seen;
  return kind === 'missing' || kind === 'foreign' || kind === 'deleting' ? kind : 'present';
}

async function remove(builds: Builds, owned: OwnedBuild): Promise<void> {
  const answer = await builds.remove(owned);
  if (answer.kind === 'refused' || answer.kind === 'unanswered')
    log.warn(`deleting the build's Job: ${answer.message}`);
}

/** Limit of kept output of a build, the same as the kubelet's. The rest is read and dropped. */
const MOST_BYTES = 10 * 1024 * 1024;
/** Pause before a log that broke off is asked for again. */
const AGAIN_MS = 1_000;
/** Time for the output of a process at its end. */
const REST_MS = 10_000;

/**
 * Brings the output of one try's pod into the log of every job that waits for the image. The log of a pod is read from its
 * beginning, so that a job that comes late, or a worker that goes on, has the same bytes at the same offsets. The tries of a
 * build are told apart as hosts are.
 */
export class BuildLog {
  readonly #shipping: Shipping;
  readonly #place: BuildPlace;
  readonly #builds: Pick<Builds, 'follow'>;
  readonly #number: number;
  readonly #signal: AbortSignal;
  #text = Buffer.alloc(0);
  readonly #streams = new Map<string, Promise<LogStream>>();
  #following: Promise<void> | undefined;
  #isRefused: string | undefined;

  /** @param number number of the try, from 0 */
  constructor(
    { builds, shipping }: { readonly builds: Pick<Builds, 'follow'>; readonly shipping: Shipping },
    { place, number, signal }: { readonly place: BuildPlace; readonly number: number; readonly signal: AbortSignal },
  ) {
    [this.#builds, this.#shipping] = [builds, shipping];
    [this.#place, this.#number, this.#signal] = [place, number, signal];
  }

  /** Serves the jobs that wait now. New ones get the earlier output too. */
  async serve(waiters: readonly BuildWaiter[]): Promise<void> {
    for (const { id, attempt } of waiters) {
      if (this.#streams.has(id)) continue;
      const shipping = { ...this.#shipping, isFollowed: followsOf(this.#shipping.store, id) };
      const opened = LogStream.open(shipping, logPrefix(id, attempt, BUILD_STREAM), this.#number, this.#signal);
      // Entered first: output that comes meanwhile is in the text that the stream is given here.
      this.#streams.set(
        id,
        opened.then(async (stream) => {
          await this.#catchUp(stream);
          return stream;
        }),
      );
    }
    await Promise.all(this.#streams.values());
  }

  /** Begins to read, once. */
  read(pod: BuildPod): void {
    this.#following ??= this.#followToItsEnd(pod).catch((error: unknown) => {
      if (!this.#signal.aborted) log.warn(`the log of build pod ${pod.name}: ${messageOf(error)}`);
    });
  }

  /** Reads and stores the rest; bounded, because a pod whose node is gone never says that its log has ended. */
  async end(): Promise<void> {
    const bound = new AbortController();
    await Promise.race([this.#following, pause(REST_MS, bound.signal)]);
    bound.abort();
    for (const opened of this.#streams.values()) {
      const stream = await opened;
      await this.#catchUp(stream);
      await stream.flush();
      if (this.#isRefused !== undefined)
        await stream.lostTail(`the log of the build cannot be read: ${this.#isRefused}`);
    }
  }

  async #followToItsEnd(pod: BuildPod): Promise<void> {
    for (;;) {
      try {
        return await this.#builds.follow(this.#place, pod, this.#sink(), this.#signal);
      } catch (error) {
        if (error instanceof CloudRefused) {
          this.#isRefused = error.message;
          return;
        }
        log.warn(`the log of build pod ${pod.name} broke off: ${messageOf(error)}`);
        await pause(AGAIN_MS, this.#signal);
        if (this.#signal.aborted) return;
      }
    }
  }

  /** Takes a log from its beginning, and skips the part that is known. */
  #sink(): Writable {
    let at = 0;
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        const news = chunk.subarray(Math.max(0, this.#text.length - at));
        at += chunk.length;
        this.#text = Buffer.concat([this.#text, news.subarray(0, Math.max(0, MOST_BYTES - this.#text.length))]);
        this.#spread().then(() => done(), done);
      },
    });
  }

  async #spread(): Promise<void> {
    for (const opened of this.#streams.values()) await this.#catchUp(await opened);
  }

  async #catchUp(stream: LogStream): Promise<void> {
    if (stream.position < this.#text.length) await stream.append(this.#text.subarray(stream.position));
  }
}
