import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/errors.js';
import { abortable, answerWithin } from '../../cloud/abort.js';
import {
  type HostConnection,
  reachesStore,
  type RunOutputs,
  type RunOutputsStatus,
  HostUnfit,
  type OutputsTaker,
  type Taken,
} from '../../cloud/hosts/port.js';
import { objectPlace, type StorePort, isOfStore, SourceChanged } from '../../cloud/store/port.js';
import type { AttemptEnd, AttemptInput } from '../../contract/job-activities.js';
import { commandFolder } from '../../domain/modules/command.js';
import {
  DEFAULT_OUTPUTS,
  type HostOutputs,
  type OutputsReport,
  outputsWaitMs,
  reportOf,
} from '../../domain/outputs.js';
import { type ManifestHeader, readManifestHeader, ManifestWrong } from '../../domain/stored-outputs.js';
import { outputContentObject, outputManifestObject, outputsPrefix } from '../../domain/store-layout.js';
import { Semaphore } from '../../domain/semaphore.js';
import { type ActivityEnd, pause } from './activity-end.js';
import { type AttemptHost, commandHostsOf, type HostCaller, runIdOf } from './attempt-hosts.js';
import type { SliceGuard } from './slice-guard.js';
import { tellJobOfOutputs } from './store-patience.js';

/** `$JOBCTL_OUTPUT_DIR` of a job, on its hosts. */
const outputFolder = (job: string): string => `~/.jobctl/outputs/${job}`;

/** The outputs that a host of the command stores, and their place. */
export function outputsOf(
  store: Pick<StorePort, 'bucket' | 'objectUrl'>,
  { job, attempt, spec }: AttemptInput,
  { target, number }: AttemptHost,
): RunOutputs {
  const { patterns, everySeconds, restore = false } = spec.outputs ?? DEFAULT_OUTPUTS;
  const manifestUrl = store.objectUrl(outputManifestObject(job.id, attempt, number)) ?? '';
  const itself = manifestUrl.startsWith('http:') ? 'nobody' : 'service-account';
  return {
    contentUrl: store.objectUrl(outputContentObject(job.id, 'SHA256')) ?? '',
    manifestUrl,
    as: reachesStore(target, store.bucket) ? itself : 'worker',
    place: objectPlace(store, outputsPrefix(job.id)),
    everyMs: everySeconds * 1000,
    folder: outputFolder(job.id),
    base: commandFolder(spec),
    patterns,
    isWholeOnly: restore,
    host: number,
  };
}

/** Makes one call on one host, over any connection. It rejects once the signal is aborted. */
type AskHost = <T>(
  host: AttemptHost,
  call: (connection: HostConnection) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

/**
 * Waits until the hosts of a command that ended have stored its files, at most as long as the job says. The hosts store the files
 * by themselves (docs/adr/0059), and are asked once a second. A host that does not answer is waited for a minute. If a host has
 * not said that its files are stored, they are looked for in the store before they are called missing. Never throws.
 * @param isGone says of a host whether it can store nothing more
 * @param tell gets the reason of the wait, and undefined when it is over
 * @param signal ends the wait early, for example when the worker shuts down
 */
async function awaitOutputs(
  store: Pick<StorePort, 'read'>,
  input: AttemptInput,
  hosts: readonly AttemptHost[],
  { ask, isGone }: { readonly ask: AskHost; readonly isGone: (host: AttemptHost) => boolean },
  tell: (what: string | undefined) => void,
  signal: AbortSignal,
): Promise<OutputsReport | undefined> {
  const waitMs = outputsWaitMs(input.spec);
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), Math.max(waitMs, ASK_ONCE_MS));
  let isTold = false;
  const tellLate = setTimeout(() => {
    isTold = true;
    tell(WAITS);
  }, TELL_AFTER_MS);
  const end = (): void => over.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  const ends = new Map<number, HostOutputs>();
  await Promise.all(
    hosts.map(async (host) => {
      let last: string | undefined;
      try {
        for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, ASK_MS)) {
          const call = ask(host, (connection) => connection.runOutputs(runIdOf(input)), over.signal);
          // Meanwhile the slices of other hosts are held, and billed.
          const status = await answerWithin(SILENT_MS, () => abortable(call, over.signal));
          // The answer to a host's last request may be lost, and the host then calls failed what is stored.
          if (status.state === 'failed') {
            const stored = await storedOf(store, input, host);
            return void ends.set(host.number, isComplete(stored) ? stored : endOf(status));
          }
          if (status.state !== 'storing') return void ends.set(host.number, endOf(status));
          last = status.reason;
          await pause(pauseMs, over.signal);
        }
      } catch (error) {
        const isLate = over.signal.aborted && !signal.aborted;
        const late = `${last ?? 'they were not stored yet'}, after ${waitMs / 1000} s (outputs.wait)`;
        const stored = isLate
          ? await storedOf(store, input, host)
          : await storedSoon(store, input, host, () => isGone(host));
        const isOpen = !isLate && !isGone(host);
        ends.set(host.number, storedBefore(stored, isLate ? late : messageOf(error), isOpen));
      }
    }),
  );
  over.abort();
  clearTimeout(timer);
  clearTimeout(tellLate);
  signal.removeEventListener('abort', end);
  if (isTold) tell(undefined);
  return reportOf(input.attempt, ends);
}

/** A host's outputs in the store. */
type Stored = ManifestHeader | 'nothing' | { readonly unreadable: string };

async function storedOf(
  store: Pick<StorePort, 'read'>,
  { job, attempt }: Pick<AttemptInput, 'job' | 'attempt'>,
  { number }: Pick<AttemptHost, 'number'>,
): Promise<Stored> {
  const manifest = outputManifestObject(job.id, attempt, number);
  try {
    const beginning = await answerWithin(STORE_MS, () => store.read(manifest, { start: 0, end: HEADER_BYTES }));
    return beginning === undefined ? 'nothing' : readManifestHeader(beginning);
  } catch (error) {
    return { unreadable: messageOf(error) };
  }
}

const isComplete = (stored: Stored): stored is ManifestHeader =>
  stored !== 'nothing' && 'state' in stored && stored.state === 'ended';

/**
 * Asks the store for a host's outputs until its last files are in it, for `SOON_MS` at most. A host that is still there stores
 * them even if it is no longer asked, and needs a moment for that after its command has ended.
 * @param isGone ends the wait, after one more look
 */
async function storedSoon(
  store: Pick<StorePort, 'read'>,
  input: Pick<AttemptInput, 'job' | 'attempt' | 'spec'>,
  host: Pick<AttemptHost, 'number'>,
  isGone: () => boolean,
): Promise<Stored> {
  const until = performance.now() + Math.min(SOON_MS, outputsWaitMs(input.spec));
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, ASK_MS)) {
    const isLast = isGone() || performance.now() >= until;
    const stored = await storedOf(store, input, host);
    if (isLast || isComplete(stored)) return stored;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** The report on a host that cannot be asked, or that has not stored its last files, from its outputs in the store. */
function storedBefore(stored: Stored, why: string, isOpen: boolean): HostOutputs {
  const open = isOpen ? ({ isOpen } as const) : {};
  if (stored === 'nothing') return { why, ...open };
  if ('unreadable' in stored) return { why: `${why}; ${stored.unreadable}`, ...open };
  if (stored.state === 'ended') return stored;
  const earlier = `${stored.files} files as they were at ${new Date(stored.at).toISOString()} are stored`;
  return { why: `${why}; ${earlier}`, ...open };
}

const HEADER_BYTES = 16_384;
/** Time limit for a store that does not answer: it must not hide a loss from its job for longer. */
const STORE_MS = 10_000;

function endOf(status: Exclude<RunOutputsStatus, { state: 'storing' }>): HostOutputs {
  switch (status.state) {
    case 'none':
      return undefined;
    case 'stored':
      return status;
    case 'failed':
      // A job that names no files and wrote none misses nothing.
      return (status.files ?? 0) === 0 && (status.unmatched ?? []).length === 0 ? undefined : { why: status.reason };
  }
}

const WAITS = 'its command has ended; its outputs are being stored';
const TELL_AFTER_MS = 3_000;
/** The first pause is short: a host with nothing to store says so at once, and a success should not wait a second for it. */
const FIRST_PAUSE_MS = 50;
const ASK_MS = 1_000;
const SILENT_MS = 60_000;
/** Time limit after a loss. The request for the next slice waits for it, and getting that slice takes minutes anyway. */
const SOON_MS = 10_000;
/** Time limit under `outputs.wait: 0`, which asks for the present state only. */
const ASK_ONCE_MS = 5_000;

/** Everything that an attempt's end needs to wait for its outputs. */
interface OutputsWait {
  readonly store: Pick<StorePort, 'read'>;
  readonly input: AttemptInput;
  readonly caller: (signal: AbortSignal) => HostCaller;
  readonly guard: Pick<SliceGuard, 'lost' | 'hasLost'>;
  readonly end: Pick<ActivityEnd, 'handedOver' | 'signal'>;
}

/**
 * The outputs of an attempt with this end. A worker that shuts down meanwhile leaves the wait to the next one, which finds the
 * same end. The loss of a slice ends the wait, and the files stored by then count. After a loss no host is asked, because the
 * next slice is waited for: hosts that are still there store their files by themselves, and the store shows that within seconds.
 */
export async function outputsAfter(
  ended: AttemptEnd,
  { store, input, caller, guard, end }: OutputsWait,
): Promise<OutputsReport | 'handed over' | undefined> {
  const hosts = commandHostsOf(input);
  let isHandedOver = false;
  const isGone = ({ target }: AttemptHost): boolean =>
    isHandedOver || end.signal.aborted || guard.hasLost(target.slice);
  if (ended.kind === 'slices-lost') return storedByThen(store, input, hosts, isGone);
  if (ended.kind !== 'exited' && ended.kind !== 'run-lost') return undefined;
  const over = new AbortController();
  const giveUp = (): void => over.abort(new Error('its slice was lost'));
  guard.lost.then(giveUp, giveUp);
  end.signal.addEventListener('abort', giveUp, { once: true });
  const ask: AskHost = ({ target }, call, signal) => caller(signal).on(target, call);
  const waited = awaitOutputs(store, input, hosts, { ask, isGone }, tellJobOfOutputs(input), over.signal);
  const handOver = (): 'handed over' => 'handed over';
  const first = await Promise.race([waited, end.handedOver.then(handOver, handOver)]);
  if (first !== 'handed over') return first;
  isHandedOver = true;
  over.abort(new Error('its worker shut down'));
  return first;
}

/** The outputs that an attempt's hosts had stored when it lost a slice. Undefined if the job names none and wrote none. */
async function storedByThen(
  store: Pick<StorePort, 'read'>,
  input: AttemptInput,
  hosts: readonly AttemptHost[],
  isGone: (host: AttemptHost) => boolean,
): Promise<OutputsReport | undefined> {
  if (input.spec.outputs === undefined) {
    const atOnce = await Promise.all(hosts.map((host) => storedOf(store, input, host)));
    if (atOnce.every((stored) => stored === 'nothing')) return undefined;
  }
  const ends = hosts.map(async (host) => {
    const stored = await storedSoon(store, input, host, () => isGone(host));
    return [host.number, storedBefore(stored, 'a slice was lost', !isGone(host))] as const;
  });
  return reportOf(input.attempt, new Map(await Promise.all(ends)));
}

/** Limits of concurrent transfers: of this worker, with some 16 MiB in memory each, and of one job among them. */
const AT_ONCE = 16;
const OF_ONE_JOB = 4;
const AGAIN_MS = 5_000;

const transfers = new Semaphore(AT_ONCE);

/**
 * Stores the outputs of hosts without an identity of their own (docs/adr/0129), as they hand them over, under names that are made
 * here. Nothing that a host says leads to another job's objects, or to a content that does not match its hash.
 */
export class DeliveredOutputs {
  readonly #store: Pick<StorePort, 'bucket' | 'upload' | 'replace'>;
  readonly #input: AttemptInput;
  readonly #caller: HostCaller;
  readonly #signal: AbortSignal;
  readonly #ofJob = new Semaphore(OF_ONE_JOB);

  constructor(
    store: Pick<StorePort, 'bucket' | 'upload' | 'replace'>,
    input: AttemptInput,
    caller: HostCaller,
    signal: AbortSignal,
  ) {
    [this.#store, this.#input, this.#caller, this.#signal] = [store, input, caller, signal];
  }

  /** Takes the files of a host whose command was started, until the last are stored, or the signal ends it. Never throws. */
  async from(host: AttemptHost): Promise<void> {
    if (reachesStore(host.target, this.#store.bucket)) return;
    const taker = this.#taker(host);
    for (;;) {
      try {
        const end = await this.#caller.on(host.target, (connection) =>
          connection.deliverOutputs(runIdOf(this.#input), taker, this.#signal),
        );
        if (end === 'settled') return;
      } catch (error) {
        if (this.#signal.aborted) return;
        log.error(`outputs of host ${host.number} are not taken: ${messageOf(error)}`);
        if (error instanceof HostUnfit) return;
      }
      await pause(AGAIN_MS, this.#signal).catch(() => undefined);
      if (this.#signal.aborted) return;
    }
  }

  #taker({ number }: AttemptHost): OutputsTaker {
    const { job, attempt } = this.#input;
    return {
      inTurn: (take) => this.#ofJob.run(() => transfers.run(take)),
      content: (source) => taken(() => this.#store.upload(outputContentObject(job.id, source.sha256), source)),
      manifest: (content) =>
        taken(() => {
          // These are a host's own words: a later reader of the rest judges each entry.
          readManifestHeader(content);
          return this.#store.replace(outputManifestObject(job.id, attempt, number), content);
        }),
    };
  }
}

async function taken(store: () => Promise<unknown>): Promise<Taken> {
  try {
    await store();
    return { kind: 'stored' };
  } catch (error) {
    if (error instanceof SourceChanged) return { kind: 'changed' };
    if (error instanceof ManifestWrong) return { kind: 'refused', why: `its list of files ${error.message}` };
    if (!isOfStore(error)) log.error(`outputs are not stored: ${messageOf(error)}`);
    return { kind: 'later', why: messageOf(error) };
  }
}
