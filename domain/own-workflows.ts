/**
 * Names in a Temporal namespace that belong to jobctl. A job file's `notify` must not use them, because the worker would send the
 * signal, and no authorizer could stop it (docs/adr/0044).
 */

/** Every signal between jobctl's workflows. `contract/define.ts` allows no other name. */
export const OWN_SIGNALS = [
  'granted',
  'revoked',
  'priority',
  'restate',
  'setUpProgress',
  'attemptTrouble',
  'unreachableHosts',
  'sliceNews',
  'release',
  'attach',
  'leaseAnswer',
  'giveUp',
  'leaseMessages',
  'wake',
  'cancelNote',
  'buildWanted',
  'buildLeft',
  'buildNews',
  'noticesWanted',
] as const;
export type OwnSignal = (typeof OWN_SIGNALS)[number];

/** Prefixes of the ids of workflows that are not jobs. A job's workflow has the job's id, which holds no '/'. */
export const OWN_ID_PREFIXES = {
  slice: 'slice/',
  quota: 'quota/',
  janitor: 'jobctl-janitor',
  machines: 'machines/',
  build: 'build/',
  notices: 'notices/',
} as const;

export const isOwnSignal = (name: string): boolean => (OWN_SIGNALS as readonly string[]).includes(name);

export const isOwnWorkflowId = (id: string): boolean =>
  Object.values(OWN_ID_PREFIXES).some((prefix) => id.startsWith(prefix));

/** The queue that every jobctl worker polls, unless configured otherwise. */
export const TASK_QUEUE = 'jobctl';
