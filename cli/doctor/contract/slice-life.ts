import { messageOf } from '../../../domain/errors.js';
import type { CloudTpuPlan, CloudTpuRef } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import { classifyCreateError, failedCreate } from '../../../cloud/machines/cloud-tpu/classify-error.js';
import {
  createQueuedResourceRequest,
  nodePath,
  queuedResourcePath,
  zonePath,
} from '../../../cloud/machines/cloud-tpu/create-request.js';
import {
  type ObservedNode,
  observedNode,
  observedQueuedResource,
} from '../../../cloud/machines/cloud-tpu/observation.js';
import { CallFailed, type TpuApi } from '../../../cloud/machines/cloud-tpu/tpu-api.js';
import { CloudRefused, CloudUnavailable } from '../../../cloud/machines/port.js';
import type { CreateAnswer } from '../../../domain/slice.js';
import { pause } from '../../../client/errors.js';
import type { EventEmitter } from 'node:events';

export interface LifeMeans {
  readonly api: TpuApi;
  /** Sets the subject of the exchanges that follow. */
  readonly about: (text: string) => void;
  /** Stores the exchanges recorded so far. */
  readonly save: () => void;
  readonly tell: (line: string) => void;
  /** Milliseconds between two looks. */
  readonly everyMs: number;
}

/** Result of one look; `gone`: Google says that the slice does not exist. */
interface Seen {
  readonly request: string;
  readonly node: string;
  /** A part exists and belongs to another owner. */
  readonly isForeign: boolean;
}

type LifeEnd = 'active' | 'refused' | 'over' | 'time';

export interface Life {
  readonly end: LifeEnd;
  /** States of the queued resource in the order seen. */
  readonly states: readonly string[];
  /** Google's message, if it refused or gave up. */
  readonly why?: string;
}

/** Number of looks after a create whose answer was lost: the request may still appear. */
const LOOKS_AFTER_A_LOST_ANSWER = 24;
/** Number of looks for a request that Google accepted and does not show yet: read-after-write lag. */
const LOOKS_AFTER_AN_ANSWER = 6;
const IN_A_ROW = 2;

/** One slice, from its create call until Google shows nothing of it. Every exit of `live` must be followed by `remove`. */
export class SliceLife {
  readonly #means: LifeMeans;
  readonly #ref: CloudTpuRef;
  readonly #owner: string;
  readonly #states: string[] = [];
  #created: CreateAnswer['kind'] = 'unanswered';
  #operation: string | undefined;
  #looks = 0;
  #last = '';

  constructor(means: LifeMeans, { ref, owner }: { readonly ref: CloudTpuRef; readonly owner: string }) {
    this.#means = means;
    this.#ref = ref;
    this.#owner = owner;
  }

  /** Creates the slice and looks until it is ACTIVE or over, or `signal` ends the wait. */
  async live(plan: CloudTpuPlan, signal: AbortSignal): Promise<Life> {
    this.#means.about('the zone before the slice');
    await this.#lists();
    if (signal.aborted) return this.#notAsked();
    this.#means.about('the create call of one spot slice');
    const answer = await this.#create(plan);
    this.#save();
    if (answer.kind === 'refused') return this.#ended('refused', answer.message);
    const end = await this.#untilReady(signal);
    if (end !== 'active') return this.#ended(end);
    await this.#whileActive(plan);
    return this.#ended('active');
  }

  /** Deletes until two looks in a row see nothing; only `signal` ends it earlier. @returns whether the slice is gone */
  async remove(signal: AbortSignal): Promise<boolean> {
    this.#means.about('deletion, until it is gone');
    let empty = 0;
    let settle = this.#settleLooks();
    while (!signal.aborted) {
      const seen = await this.#look();
      if (seen?.isForeign === true) return this.#notOurs();
      const isEmpty = seen?.request === 'gone' && seen.node === 'gone';
      empty = isEmpty ? empty + 1 : 0;
      if (empty >= IN_A_ROW && settle <= 0) {
        await this.#afterwards();
        return true;
      }
      if (seen !== undefined && !isEmpty) await this.#delete(seen);
      if (seen !== undefined && !(await this.#mayStillCome())) settle -= 1;
      await pause(this.#means.everyMs, signal);
    }
    return false;
  }

  async #create(plan: CloudTpuPlan): Promise<CreateAnswer> {
    const answer = await this.#means.api.createQueuedResource(createQueuedResourceRequest(plan)).then(
      ({ name, error }): CreateAnswer => {
        this.#operation = name;
        return error === undefined ? { kind: 'accepted' } : failedCreate(error);
      },
      (error: unknown): CreateAnswer => {
        if (!(error instanceof CallFailed)) throw error;
        return classifyCreateError(error.error);
      },
    );
    this.#created = answer.kind;
    if (answer.kind === 'unanswered')
      this.#means.tell(`no answer to the create call (${answer.message}): the slice may come all the same`);
    return answer;
  }

  async #untilReady(signal: AbortSignal): Promise<LifeEnd> {
    while (!signal.aborted) {
      this.#means.about('the slice on its way to ACTIVE');
      const seen = await this.#look();
      this.#save();
      if (seen?.isForeign === true) return 'over';
      if (seen?.request === 'ACTIVE' && seen.node === 'READY') return 'active';
      if (seen !== undefined && OVER.has(seen.request)) return 'over';
      if (seen?.request === 'gone' && (this.#states.length > 0 || this.#looks > LOOKS_AFTER_A_LOST_ANSWER))
        return 'over';
      await pause(this.#means.everyMs, signal);
    }
    return 'time';
  }

  async #whileActive(plan: CloudTpuPlan): Promise<void> {
    const { api, about } = this.#means;
    about('listings with an ACTIVE slice');
    await this.#lists();
    about('a second create call under the same name, which is refused');
    await attempt(api.createQueuedResource(createQueuedResourceRequest(plan)));
    if (this.#operation !== undefined) {
      about('the operation of the create call');
      await attempt(api.getOperation(this.#operation));
    }
    about('a deletion without force while it is ACTIVE, which is refused');
    await attempt(api.deleteQueuedResource(queuedResourcePath(this.#ref), false));
    this.#save();
  }

  async #lists(): Promise<void> {
    const zone = zonePath(this.#ref.googleProject, this.#ref.zone);
    await attempt(this.#means.api.listQueuedResources(zone));
    await attempt(this.#means.api.listNodes(zone));
  }

  /** One look at the slice. Undefined: the answer is unknown. */
  async #look(): Promise<Seen | undefined> {
    const { api, tell } = this.#means;
    this.#looks += 1;
    try {
      const request = await api.getQueuedResource(queuedResourcePath(this.#ref));
      const node = await api.getNode(nodePath(this.#ref));
      const parts = [request && observedQueuedResource(request), node && observedNode(node)] as const;
      const [ofRequest, ofNode] = parts.map((part) => part?.state ?? 'gone') as [string, string];
      this.#note(ofRequest, ofNode, parts[0]?.error?.message);
      return {
        request: ofRequest,
        node: ofNode,
        isForeign: parts.some((part) => part !== undefined && this.#isForeign(part)),
      };
    } catch (error) {
      if (!(error instanceof CloudUnavailable || error instanceof CloudRefused)) throw error;
      tell(`cannot look: ${error.message}`);
      return undefined;
    }
  }

  /** The name is random, so a resource without labels is ours, unless it existed before our call. */
  #isForeign({ ownership }: Pick<ObservedNode, 'ownership'>): boolean {
    return ownership === undefined ? this.#created === 'exists' : ownership.owner !== this.#owner;
  }

  #note(request: string, node: string, why: string | undefined): void {
    const now = `queued resource ${request}, node ${node}${why === undefined ? '' : `: ${why}`}`;
    if (now === this.#last) return;
    this.#last = now;
    if (request !== 'gone' && this.#states.at(-1) !== request) this.#states.push(request);
    this.#means.tell(now);
  }

  async #delete({ request, node }: Seen): Promise<void> {
    const { api, tell } = this.#means;
    const call =
      request === 'gone'
        ? node !== 'DELETING' && api.deleteNode(nodePath(this.#ref))
        : request !== 'DELETING' && api.deleteQueuedResource(queuedResourcePath(this.#ref));
    if (call === false) return;
    const refused = await attempt(call);
    if (refused !== undefined) tell(`not deleted yet: ${refused.message}`);
    this.#save();
  }

  /** Whether the slice may still appear: its create call was accepted, nothing was seen yet, and its operation has not ended. */
  async #mayStillCome(): Promise<boolean> {
    if (this.#created !== 'accepted' || this.#states.length > 0 || this.#operation === undefined) return false;
    const found = await this.#means.api.getOperation(this.#operation).catch(() => undefined);
    return found !== undefined && found.done !== true;
  }

  /** Records the last exchanges, after nothing is left. */
  async #afterwards(): Promise<void> {
    this.#means.about('afterwards: nothing is left');
    await this.#lists();
    await attempt(this.#means.api.deleteQueuedResource(queuedResourcePath(this.#ref)));
    this.#save();
  }

  /** Saves the exchanges. Never throws: nothing may prevent the deletion of a slice, not even a full disk. */
  #save(): void {
    try {
      this.#means.save();
    } catch (error) {
      this.#means.tell(`the recordings cannot be written: ${messageOf(error)}`);
    }
  }

  #notAsked(): Life {
    this.#created = 'refused';
    return this.#ended('time');
  }

  #settleLooks(): number {
    if (this.#created === 'refused' || this.#states.length > 0) return 0;
    return this.#created === 'accepted' ? LOOKS_AFTER_AN_ANSWER : LOOKS_AFTER_A_LOST_ANSWER;
  }

  #notOurs(): boolean {
    this.#means.tell(`${this.#ref.name} is not of this run: it is left alone`);
    return true;
  }

  #ended(end: LifeEnd, why?: string): Life {
    return { end, states: this.#states, ...(why !== undefined && { why }) };
  }
}

const OVER: ReadonlySet<string> = new Set(['FAILED', 'SUSPENDING', 'SUSPENDED', 'DELETING']);

/** Returns whether a failed create call certainly created nothing. */
export const isRefusal = (failure: Error): boolean =>
  failure instanceof CallFailed && classifyCreateError(failure.error).kind === 'refused';

/** Waits for a call whose answer matters, even a refusal. @returns the failure */
export async function attempt(call: Promise<unknown>): Promise<Error | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    if (error instanceof CallFailed || error instanceof CloudRefused || error instanceof CloudUnavailable) return error;
    throw error;
  }
}

/** Signals of the user: the first ends the wait, the second also ends the deletion. */
export class Signals {
  readonly #wait = new AbortController();
  readonly #second = new AbortController();
  readonly #onSignal: () => void;
  readonly #source: EventEmitter;
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;

  /** @param source emitter of the signals */
  constructor(tell: (line: string) => void, source: EventEmitter = process) {
    this.#source = source;
    this.#onSignal = () => {
      if (!this.#isFirst) return this.#second.abort();
      this.#isFirst = false;
      tell(
        'deleting the slice, and looking until it is gone; a second signal ends at once, and it may go on to cost money',
      );
      this.#wait.abort();
    };
    for (const name of SIGNALS) source.on(name, this.#onSignal);
  }

  /**
   * Aborts at the first signal, or after `ms`. One controller serves both, because Node 20 forgets an AbortSignal.timeout that
   * only AbortSignal.any holds.
   */
  firstWithin(ms: number): AbortSignal {
    this.#timer = setTimeout(() => this.#wait.abort(), ms);
    return this.#wait.signal;
  }

  get second(): AbortSignal {
    return this.#second.signal;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const name of SIGNALS) this.#source.off(name, this.#onSignal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
