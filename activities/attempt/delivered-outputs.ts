import { log } from '@temporalio/activity';
import { messageOf } from '../../domain/error-words.js';
import { Semaphore } from '../../domain/semaphore.js';
import { HostUnfit, type OutputsTaker, reachesStore, type Taken } from '../../cloud/hosts/port.js';
import { isOfStore, SourceChanged, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { outputContentObject, outputManifestObject } from '../../domain/store-layout.js';
import { ManifestWrong, readManifestHeader } from '../../domain/stored-outputs.js';
import { type AttemptHost, type HostCaller, runIdOf } from './attempt-hosts.js';
import { pause } from './pause.js';

/** Transfers under way in this worker, each with some 16 MiB in memory, and those of one job among them. */
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
