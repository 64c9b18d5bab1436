import { apiErrors } from './api-error.js';
import type { ApiVersion } from './api-version.js';
import type { CloudContext } from './context.js';
import type { Operation } from './model.js';
import { isIn, parentOf } from './resource-name.js';
import type { CloudState } from './state.js';

/** Finished operations kept; older ones are forgotten, as the service forgets them. */
const KEPT_OPERATIONS = 2000;

export type OperationOutcome = Pick<Operation, 'error'> | Pick<Operation, 'result'>;

/** The operations in the state. Only this class changes them, and each change is an event with its after-image. */
export class Operations {
  readonly #state: CloudState;
  readonly #context: CloudContext;
  readonly #touched: (name: string) => void;
  /** Names of ended operations, in the order of their ends. */
  readonly #ended: string[];

  constructor(state: CloudState, context: CloudContext, touched: (name: string) => void) {
    this.#state = state;
    this.#context = context;
    this.#touched = touched;
    this.#ended = Object.values(state.operations).flatMap((operation) => (isDone(operation) ? [operation.name] : []));
  }

  start(verb: Operation['verb'], target: string): Operation {
    const { random } = this.#context;
    const now = this.#context.now();
    // The service's form: operation-1781625689032-654610e51473f-b8557a36-8a68155f.
    const id = `operation-${now}-${random.hex(13)}-${random.hex(8)}-${random.hex(8)}`;
    const name = `${parentOf(target)}/operations/${id}`;
    return this.#put({ name, target, verb, createTime: new Date(now).toISOString() });
  }

  /** Ends the operations, except those that have ended or were forgotten. */
  end(names: readonly string[], outcome: OperationOutcome): void {
    for (const name of names) {
      const operation = this.#state.operations[name];
      if (operation === undefined || isDone(operation)) continue;
      this.#put({ ...operation, ...outcome, endTime: new Date(this.#context.now()).toISOString() });
      this.#ended.push(name);
    }
    for (const name of this.#ended.splice(0, Math.max(0, this.#ended.length - KEPT_OPERATIONS))) this.#remove(name);
  }

  /** Ends an operation that began just now. @returns the ended operation */
  endAtOnce({ name }: Operation, outcome: OperationOutcome): Operation {
    this.end([name], outcome);
    return getOperation(this.#state, name);
  }

  /** An operation is always answered in the version of the call that began it; v2 needs no note. */
  noteVersion(name: string, apiVersion: ApiVersion): Operation {
    return this.#put({ ...getOperation(this.#state, name), apiVersion });
  }

  /** Marks the operation; its work goes on. The RPC calls that best effort. */
  cancel(name: string): void {
    const operation = getOperation(this.#state, name);
    if (!isDone(operation)) this.#put({ ...operation, cancelRequested: true });
  }

  /** Removes the operation; its work goes on. */
  forget(name: string): void {
    getOperation(this.#state, name);
    this.#remove(name);
  }

  #put(operation: Operation): Operation {
    this.#state.operations[operation.name] = operation;
    this.#touched(operation.name);
    const { target, verb, error } = operation;
    const details = { target, verb, isDone: isDone(operation), ...(error && { error }), resource: operation };
    this.#context.record('operation', operation.name, details);
    return operation;
  }

  #remove(name: string): void {
    if (this.#state.operations[name] === undefined) return;
    delete this.#state.operations[name];
    this.#touched(name);
    this.#context.record('operation', name, { to: 'gone' });
  }
}

/** @throws ApiError if it does not exist */
export function getOperation(state: CloudState, name: string): Operation {
  const operation = state.operations[name];
  if (operation === undefined) throw apiErrors.notFound(name);
  return operation;
}

export function listOperations(state: CloudState, parent: string): readonly Operation[] {
  return Object.values(state.operations).filter((operation) => isIn(operation.name, parent));
}

export function isDone(operation: Operation): boolean {
  return operation.error !== undefined || operation.result !== undefined;
}
