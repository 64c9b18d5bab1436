import { ApiError } from './api-error.js';
import type { Refusal } from './fault-rules.js';
import type { CloudState } from './state.js';
import { matches } from './state.js';

/**
 * Returns the first refusal in force for a call and counts it as used; undefined if the call goes through.
 * @param name of the resource that the call is about, or a listing's parent
 * @param now epoch ms of the cloud's clock
 */
export function takeRefusal(state: CloudState, method: string, name: string, now: number): Refusal | undefined {
  state.refusals = state.refusals.filter((rule) => rule.until === undefined || now < rule.until);
  const refusal = state.refusals.find((rule) => isAbout(rule, method, name));
  if (refusal?.times !== undefined) {
    refusal.times -= 1;
    if (refusal.times <= 0) state.refusals = state.refusals.filter((rule) => rule !== refusal);
  }
  return refusal;
}

function isAbout(rule: Refusal, method: string, name: string): boolean {
  const isMethod = rule.method.endsWith('*') ? method.startsWith(rule.method.slice(0, -1)) : method === rule.method;
  const isZone =
    rule.zone === undefined || isWithin('locations', rule.zone, name) || isWithin('zones', rule.zone, name);
  return isMethod && isZone && matches(rule.nameMatches, name);
}

const isWithin = (collection: string, zone: string, name: string): boolean =>
  name.includes(`/${collection}/${zone}/`) || name.endsWith(`/${zone}`);

export function refusalError(refusal: Refusal): ApiError {
  const { status, message, reason } = refusal;
  return new ApiError(status, message, reason === undefined ? undefined : { reason, ...FRONT_END });
}

const FRONT_END = { domain: 'googleapis.com', metadata: { service: 'tpu.googleapis.com' } };
