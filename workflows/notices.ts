import {
  ActivityFailure,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { RetryState } from '@temporalio/common';
import { messageOf } from '../domain/errors.js';
import {
  DELIVERY_LIMIT_MS,
  type Notice,
  noticeForm,
  type NoticesCarry,
  type NoticesInput,
  noticesInputForm,
  type NoticesReport,
  type NoticesResult,
  noticesWantedSignal,
} from '../contract/notices.js';
import type { ToldEvent } from '../domain/job-events/event.js';
import { isWorkflowTarget, type NotifyTarget, targetKey, targetText } from '../domain/notify.js';
import { count } from '../domain/units.js';
import { describeBy } from './current-details.js';
import { delivery } from './activity-options.js';
import { Inbox, inputIn } from './inbox.js';
import { joinBlocks, plain } from './markdown.js';

/**
 * Delivers a job's events to targets outside of Temporal, to each in order, so that no receiver holds up the job
 * (docs/adr/0148). The job starts it and sends more events while it is open. It ends when nothing is left to deliver.
 */
export async function notices(input: NoticesInput): Promise<NoticesResult> {
  const post = new Post(inputIn(noticesInputForm, 'notices', input));
  const rest = await post.run();
  if (rest === undefined) return { lines: post.reports };
  return continueAsNew<typeof notices>({ ...input, notices: [], carry: rest });
}

interface Line {
  readonly target: NotifyTarget;
  /** The first is under way, or is next. */
  waiting: ToldEvent[];
  told: number;
  givenUp: number;
  problem: string | undefined;
  isBusy: boolean;
}

/** Limit of events that wait for one target. If a job has more, the target has accepted none for a long time. */
const MOST_WAITING = 50;
const TOO_MANY = `more than ${MOST_WAITING} events waited for it`;
/** Number of events in a history after which it continues as new. */
const LONG_HISTORY = 2_000;
const TEST_TRIES = 2;

class Post {
  readonly #input: NoticesInput;
  readonly #inbox: Inbox;
  readonly #lines: Map<string, Line>;
  readonly #scope = new CancellationScope();
  #heard: number;
  #isLeaving = false;

  constructor(input: NoticesInput) {
    const { carry } = input;
    this.#input = input;
    this.#heard = carry?.heard ?? -1;
    this.#lines = new Map(
      (carry?.lines ?? []).map(({ waiting, ...line }) => [
        targetKey(line.target),
        { ...line, waiting: [...waiting], problem: line.problem, isBusy: false },
      ]),
    );
    this.#inbox = new Inbox(carry?.kept).onEach(noticesWantedSignal, noticeForm, (all) => this.#take(all));
  }

  get reports(): readonly NoticesReport[] {
    return this.#all.map(({ target, told, givenUp, problem }) => ({
      ...{ target, told, givenUp },
      ...(problem === undefined ? {} : { problem }),
    }));
  }

  /** Delivers until nothing is left. @returns what the next run has to continue with, if the history is long */
  async run(): Promise<NoticesCarry | undefined> {
    this.#take(this.#input.notices);
    for (const line of this.#all) this.#next(line);
    this.#inbox.open();
    describeBy(() => this.#details());
    await condition(() => this.#isDone || workflowInfo().historyLength > LONG_HISTORY);
    if (this.#isDone) return undefined;
    this.#isLeaving = true;
    this.#scope.cancel();
    await condition(() => this.#all.every(({ isBusy }) => !isBusy));
    const { kept } = this.#inbox;
    const lines = this.#all.map(({ waiting, target, told, givenUp, problem }) => ({
      ...{ target, waiting, told, givenUp },
      ...(problem === undefined ? {} : { problem }),
    }));
    return { heard: this.#heard, lines, ...(kept.length === 0 ? {} : { kept }) };
  }

  get #all(): readonly Line[] {
    return [...this.#lines.values()];
  }

  get #isDone(): boolean {
    return this.#all.every(({ waiting }) => waiting.length === 0);
  }

  #take(all: readonly Notice[]): void {
    for (const { number, event, to } of all) {
      if (number <= this.#heard) continue;
      this.#heard = number;
      for (const target of to) this.#add(target, event);
    }
  }

  #add(target: NotifyTarget, event: ToldEvent): void {
    const key = targetKey(target);
    const line = this.#lines.get(key) ?? {
      target,
      waiting: [],
      told: 0,
      givenUp: 0,
      problem: undefined,
      isBusy: false,
    };
    this.#lines.set(key, line);
    line.waiting.push(event);
    // The one that is under way stays, and so does the newest, which may be the end.
    if (line.waiting.length > MOST_WAITING) this.#giveUp(line, line.waiting.splice(1, 1).length, TOO_MANY);
    this.#next(line);
  }

  #next(line: Line): void {
    const [event] = line.waiting;
    if (line.isBusy || this.#isLeaving || event === undefined) return;
    line.isBusy = true;
    void this.#scope
      .run(() => this.#deliver(line.target, event))
      .then(
        () => (line.told += 1),
        (error: unknown) => {
          // The next run delivers it again, under the same id.
          if (isCancellation(error)) return 'kept';
          this.#giveUp(line, 1, whyNot(error));
        },
      )
      .then((what) => {
        line.isBusy = false;
        if (what !== 'kept') line.waiting.shift();
        this.#next(line);
      });
  }

  async #deliver(target: NotifyTarget, event: ToldEvent): Promise<void> {
    const { about, isTest } = this.#input;
    if (isWorkflowTarget(target)) {
      const { id, signal } = target.workflow;
      await getExternalWorkflowHandle(id).signal(signal, { v: 1, job: about.job.id, run: about.job.run, event });
      return;
    }
    const leftMs = event.at + DELIVERY_LIMIT_MS - Date.now();
    const call = delivery(leftMs, isTest ? TEST_TRIES : undefined)(`tell ${targetText(target)}: ${event.kind}`);
    await call.deliverNotice({ about, target, event, ...(isTest ? { isTest } : {}) });
  }

  #giveUp(line: Line, events: number, why: string): void {
    line.givenUp += events;
    line.problem = why;
  }

  #details(): string {
    const rows = this.#all.map(({ target, waiting, told, givenUp, problem }) => {
      const lost = givenUp === 0 ? '' : `, ${count(givenUp, 'event')} given up: ${plain(problem ?? '')}`;
      return `${plain(targetText(target))}: told of ${count(told, 'event')}, ${waiting.length} waiting${lost}`;
    });
    return joinBlocks([`Events of job \`${this.#input.about.job.id}\``, ...rows], '');
  }
}

function whyNot(error: unknown): string {
  if (!(error instanceof ActivityFailure)) return messageOf(error);
  const reason = error.cause?.message ?? error.message;
  return error.retryState === RetryState.NON_RETRYABLE_FAILURE ? reason : `given up: ${reason}`;
}
