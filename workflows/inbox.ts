import { defineSignal, log, setHandler, workflowInfo } from '@temporalio/workflow';
import type { SignalDefinition } from '@temporalio/common';
import type { Form } from '../contract/form.js';
import { takeFloods } from './flood.js';
import { meter } from './meter.js';

/** A message that only a later version of this workflow can read. Plain JSON: it crosses a continue-as-new. */
export interface KeptMessage {
  readonly signal: string;
  readonly value: unknown;
}

/** Beyond this many, a message of an unknown version is dropped: a sender that never stops must not fill the history. */
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
