import {
  ApplicationFailure,
  CancellationScope,
  defineSignal,
  log,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { SignalDefinition } from '@temporalio/common';
import type { Form, Checked } from '../contract/form.js';
import { FailureType } from '../domain/errors.js';
import { shortened } from '../domain/problem.js';
import { takeFloods } from './flood.js';
import { meter } from './meter.js';

/** A message that only a later version of this workflow can read. Plain JSON: it crosses a continue-as-new. */
export interface KeptMessage {
  readonly signal: string;
  readonly value: unknown;
}

/** Limit of kept messages of unknown versions. Others are dropped: a sender that never stops must not fill the history. */
const MOST_KEPT = 200;

/**
 * The signals of one run of a workflow (docs/design.md, "Nothing wedges"). A handler sees only messages in its contract's form.
 * A malformed message is counted, logged without its value, and dropped. A message of an unknown version, which a newer
 * sender wrote in a rolling upgrade, is counted and kept; the next run offers it again, by then perhaps with newer code.
 *
 * Temporal hands over waiting signals inside of `setHandler`, so a handler that is registered before the workflow's state is
 * whole reads fields that do not exist yet, and the workflow task fails for ever. Hence `open`: it registers all handlers at
 * once, and is called when the state is whole.
 */
export class Inbox {
  readonly #handlers = new Map<string, (value: unknown) => void>();
  readonly #offeredAgain: readonly KeptMessage[];
  #kept: KeptMessage[] = [];
  #isOpen = false;

  /** @param kept messages that the previous run kept */
  constructor(kept: readonly KeptMessage[] = []) {
    this.#offeredAgain = kept;
  }

  on<T>({ name }: SignalDefinition<[T]>, form: Form<T>, handle: (value: T) => void): this {
    return this.#add(name, (value) => this.#take({ name, form, value, whole: value }, handle));
  }

  /** A signal that carries a list of messages. Each is checked on its own; `handle` gets those that are valid. */
  onEach<T>({ name }: SignalDefinition<[readonly T[]]>, form: Form<T>, handle: (values: readonly T[]) => void): this {
    return this.#add(name, (values) => {
      if (!Array.isArray(values)) return this.#drop(name, 'the message: not a list');
      const valid: T[] = [];
      for (const value of values as unknown[]) {
        this.#take({ name, form, value, whole: [value] }, (taken) => void valid.push(taken));
      }
      if (valid.length > 0) handle(valid);
    });
  }

  /** A signal that is understood by its name alone. Its arguments are ignored. */
  onBare({ name }: SignalDefinition<[]>, handle: () => void): this {
    return this.#add(name, handle);
  }

  /**
   * Registers the handlers. Messages that came before are handled inside this call, first those that the previous run kept: they
   * are older than any that this run was sent. Call it once.
   */
  open(): void {
    this.#isOpen = true;
    for (const { signal, value } of this.#offeredAgain) this.#handlers.get(signal)?.(value);
    takeFloods((signal, value) => this.#handlers.get(signal)?.(value));
    for (const [name, handle] of this.#handlers) setHandler(defineSignal<[unknown]>(name), handle);
  }

  /** Messages to carry over a continue-as-new. */
  get kept(): readonly KeptMessage[] {
    return this.#kept;
  }

  #add(name: string, handle: (value: unknown) => void): this {
    if (this.#isOpen) throw new TypeError(`signal ${name}: the inbox is open already`);
    this.#handlers.set(name, handle);
    return this;
  }

  #take<T>({ name, form, value, whole }: Incoming<T>, handle: (value: T) => void): void {
    const checked = form(value);
    switch (checked.kind) {
      case 'valid':
        return handle(checked.value);
      case 'malformed':
        return this.#drop(name, checked.reason);
      case 'unknown-version':
        return this.#keep(name, whole, checked.version);
    }
  }

  #drop(signal: string, reason: string): void {
    log.warn('dropped a malformed signal', { signal, reason });
    meter.refusedMessage(workflowInfo().workflowType, signal, 'malformed');
  }

  #keep(signal: string, value: unknown, version: number): void {
    const isKept = this.#kept.length < MOST_KEPT;
    if (isKept) this.#kept.push({ signal, value });
    const what = isKept ? 'kept' : 'dropped';
    log.warn(`${what} a signal of an unknown version: update this worker`, { signal, version });
    meter.refusedMessage(workflowInfo().workflowType, signal, 'unknown-version');
  }
}

interface Incoming<T> {
  readonly name: string;
  readonly form: Form<T>;
  readonly value: unknown;
  /** The value that the signal's handler would get for this message alone. */
  readonly whole: unknown;
}

/**
 * Limit for times in messages. Epochs and sequences are workflow times (workflows/one-at-a-time.ts), and the highest that was
 * heard counts. A time far in the future would count for ever: one forged signal would make a job ignore its pool (docs/adr/0075,
 * F10). Clocks of Temporal's servers differ by less.
 */
const MOST_AHEAD_MS = 10 * 60_000;

/**
 * The form of a message whose time is not in the future. A message from the future is malformed: it is dropped, counted and
 * logged (`Inbox`).
 * @param timeOf reads the time of a message of this form, in ms
 */
export function notAhead<T>(form: Form<T>, key: string, timeOf: (value: T) => number): Form<T> {
  const check = (value: unknown): Checked<T> => {
    const checked = form(value);
    if (checked.kind !== 'valid' || timeOf(checked.value) <= Date.now() + MOST_AHEAD_MS) return checked;
    return { kind: 'malformed', reason: `${key}: lies in the future, so no workflow of jobctl's has sent it` };
  };
  return Object.assign(check, { bounds: form.bounds, schema: form.schema });
}

/** The form of a message from one run of a quota workflow, which began at its epoch. */
export const ofThisTime = <T extends { readonly epoch: number }>(form: Form<T>): Form<T> =>
  notAhead(form, 'epoch', ({ epoch }) => epoch);

/**
 * Runs a workflow to which a cancel request is news, and no order to stop: everything runs outside its reach, so that the workflow can
 * end in order what it has begun.
 */
export function hearingCancel<T>(run: () => Promise<T>, onCancel: () => unknown): Promise<T> {
  const cancelled = CancellationScope.current().cancelRequested;
  return CancellationScope.nonCancellable(async () => {
    void cancelled.catch(onCancel);
    return run();
  });
}

/** The error for the input of a workflow that another service, in any language, may have sent. No retry mends it. */
export const invalidInput = (workflow: string, why: string): ApplicationFailure =>
  ApplicationFailure.create({
    type: FailureType.InvalidInput,
    nonRetryable: true,
    message: `the input of the workflow ${workflow}: ${why}`,
  });

/** The input of a workflow, without keys that the form does not name. @throws invalidInput if it does not have the form */
export function inputIn<T>(form: Form<T>, workflow: string, input: unknown): T {
  const checked = form(input);
  if (checked.kind === 'valid') return checked.value;
  const isNewer = checked.kind === 'unknown-version';
  throw invalidInput(workflow, isNewer ? `version ${checked.version} is not known: update the worker` : checked.reason);
}

/** The error of a validator or an update that refuses a person's call: nothing was changed. `message` is for the caller. */
export const refusal = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.Refused, nonRetryable: true, message: shortened(message) });

/** The error for a job file that is wrong in itself, whatever state the job is in. It is the same error as at submit. */
export const wrongFile = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(message) });

/** For validators of updates. @throws refusal if a call does not have its contract's form */
export function mustBeForm<T>(form: Form<T>, call: unknown): void {
  const checked = form(call);
  if (checked.kind === 'unknown-version')
    throw refusal(`a call of version ${checked.version} is not known to this worker: update it`);
  if (checked.kind === 'malformed')
    throw refusal(`this call does not have the form of its contract: ${checked.reason}`);
}
