import type { Client, Connection } from '@temporalio/client';
import { explainGaps, searchAttributeGaps } from '../domain/search-attributes.js';
import { serverTooOld } from '../domain/temporal-version.js';
import { IS_A_WORKER_UP, NoWorkerAnswers, TemporalRefused, TemporalUnreachable } from './errors.js';

const DEADLINE_MS = 10_000;

/** Calls to one Temporal server. Every call has a deadline, and each failure says what to do. */
export class TemporalCalls {
  readonly #temporal: Client;
  readonly #server: string;
  #isNewEnough = false;

  /** @param server `Temporal at A`, for messages */
  constructor(temporal: Client, server: string) {
    this.#temporal = temporal;
    this.#server = server;
  }

  /** Makes a call with a deadline, so that an unreachable server does not block the caller. */
  async bounded<T>(call: () => Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
    try {
      return await this.#temporal.connection.withDeadline(Date.now() + deadlineMs, call);
    } catch (error) {
      throw (await this.#refusalOf(error)) ?? error;
    }
  }

  async #refusalOf(error: unknown): Promise<Error | undefined> {
    if (isWithoutCodec(error)) {
      const what = `what ${this.#server} keeps of the job is encrypted, and the Client that was given has no codec`;
      return new TemporalRefused(what, "make the Client with jobctl's jobDataConverter (docs/encryption.md)");
    }
    if (isWithoutPoller(error))
      return new NoWorkerAnswers(`${this.#server} answers, and no worker does`, IS_A_WORKER_UP);
    const { explainRefusal } = await import('../cloud/temporal/explain-refusal.js');
    const { namespace } = this.#temporal.options;
    const refusal = explainRefusal(error, namespace);
    switch (refusal?.kind) {
      case undefined:
        return undefined;
      case 'unreachable':
        return new TemporalUnreachable(`${this.#server} does not answer: ${refusal.why}`, refusal.remedy);
      case 'refused':
        return new TemporalRefused(`${this.#server}: ${refusal.why}`, refusal.remedy);
      case 'search-attributes':
        return new TemporalRefused((await this.#attributeGaps()) ?? `${this.#server}: ${refusal.why}`);
    }
  }

  /** The attributes that the server does not accept; undefined if the server does not say. */
  async #attributeGaps(): Promise<string | undefined> {
    const { operatorService } = this.#temporal.connection as Partial<Connection>;
    const { namespace } = this.#temporal.options;
    const known = await operatorService?.listSearchAttributes({ namespace }).catch(() => undefined);
    return known && explainGaps(searchAttributeGaps(known.customAttributes ?? {}), namespace);
  }

  /** Called before a client's first job: a server that lacks features of its workflow would fail it later, less clearly. */
  async refuseOldServer(): Promise<void> {
    if (this.#isNewEnough) return;
    const { serverVersion } = await this.bounded(() => this.#temporal.workflowService.getSystemInfo({}));
    const tooOld = serverTooOld(serverVersion ?? '');
    if (tooOld !== undefined) throw new TemporalRefused(`${this.#server}: ${tooOld}`);
    this.#isNewEnough = true;
  }
}

/** The server's answer to a query whose task queue no worker has polled for a while. The SDK wraps it. */
function isWithoutPoller(error: unknown): boolean {
  const { details = '' } = (error as { readonly cause?: { readonly details?: string } } | undefined)?.cause ?? {};
  return details.startsWith('no poller seen for task queue');
}

/** The message of Temporal's own converter about an encrypted payload. */
function isWithoutCodec(error: unknown): boolean {
  return error instanceof Error && error.message === 'Unknown encoding: binary/encrypted';
}
