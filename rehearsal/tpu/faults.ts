import { ApiError } from './api-error.js';
import type { CloudState, Refusal } from './state.js';
import { matches } from './state.js';

/** The first refusal that is in force for a call, counted as used; undefined if the call goes through. */
export function takeRefusal(state: CloudState, method: string, name: string): Refusal | undefined {
  const refusal = state.refusals.find((rule) => rule.method === method && matches(rule.nameMatches, name));
  if (refusal?.times !== undefined) {
    refusal.times -= 1;
    if (refusal.times <= 0) state.refusals = state.refusals.filter((rule) => rule !== refusal);
  }
  return refusal;
}

export function refusalError(refusal: Refusal): ApiError {
  return new ApiError(refusal.status, refusal.message);
}
