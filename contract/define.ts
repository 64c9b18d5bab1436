import type { QueryDefinition, SignalDefinition, UpdateDefinition } from '@temporalio/common';
import type { OwnSignal } from '../domain/temporal-server.js';
import type { TextPage } from '../quota/published-state.js';

// The SDK's own defineSignal, defineUpdate and defineQuery work only in the workflow sandbox, and clients define messages too.

export function signal<Args extends unknown[]>(name: OwnSignal): SignalDefinition<Args> {
  return { type: 'signal', name } as SignalDefinition<Args>;
}
export function update<Call>(name: string): UpdateDefinition<{ readonly message: string }, [Call]> {
  return { type: 'update', name } as UpdateDefinition<{ readonly message: string }, [Call]>;
}
export function query<Result, Args extends unknown[] = []>(name: string): QueryDefinition<Result, Args> {
  return { type: 'query', name } as QueryDefinition<Result, Args>;
}
export function pagedQuery(name: string): QueryDefinition<TextPage, [page: number]> {
  return { type: 'query', name } as QueryDefinition<TextPage, [page: number]>;
}

/** A call that a person makes. `by` is the caller's claim, not verified (docs/design.md, "Trust"). */
export interface HumanCall {
  readonly v: 1;
  readonly by: string;
  /** Host name of the caller's computer: also the caller's claim. */
  readonly from?: string;
}
