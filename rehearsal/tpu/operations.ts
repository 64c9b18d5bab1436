import { randomBytes } from 'node:crypto';
import { apiErrors } from './api-error.js';
import type { CloudContext } from './context.js';
import type { Operation } from './model.js';
import { isIn, parentOf } from './resource-name.js';
import type { CloudState } from './state.js';

/** Finished operations kept; older ones are forgotten, as the service forgets them. */
const KEPT_OPERATIONS = 2000;

export type OperationOutcome = Pick<Operation, 'error'> | Pick<Operation, 'result'>;

export function startOperation(
  state: CloudState,
  context: CloudContext,
  verb: Operation['verb'],
  target: string,
): Operation {
  const now = context.now();
  const id = `operation-${now}-${hex(7)}-${hex(4)}-${hex(4)}`;
  const name = `${parentOf(target)}/operations/${id}`;
  const operation: Operation = { name, target, verb, createTime: new Date(now).toISOString() };
  state.operations[name] = operation;
  forgetOld(state);
  return operation;
}

export function endOperations(
  state: CloudState,
  context: CloudContext,
  names: readonly string[],
  outcome: OperationOutcome,
): void {
  for (const name of names) {
    const operation = state.operations[name];
    if (operation === undefined || isDone(operation)) continue;
    state.operations[name] = { ...operation, ...outcome, endTime: new Date(context.now()).toISOString() };
  }
}

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

function forgetOld(state: CloudState): void {
  const done = Object.values(state.operations).filter(isDone);
  for (const operation of done.slice(0, Math.max(0, done.length - KEPT_OPERATIONS))) {
    delete state.operations[operation.name];
  }
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
