/**
 * Names that are jobctl's own in a Temporal namespace. A job file's `notify` must not use them: the worker would send the
 * signal, so that no authorizer could stop it (docs/adr/0044).
 */

/** Every signal between jobctl's workflows; `contract/define.ts` takes no other name. */
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
] as const;
export type OwnSignal = (typeof OWN_SIGNALS)[number];

/** What the ids of workflows begin with that are not jobs. A job's id is the job's own and holds no '/'. */
export const OWN_ID_PREFIXES = {
  slice: 'slice/',
  quota: 'quota/',
  janitor: 'jobctl-janitor',
  machines: 'machines/',
  build: 'build/',
} as const;

export const isOwnSignal = (name: string): boolean => (OWN_SIGNALS as readonly string[]).includes(name);

export const isOwnWorkflowId = (id: string): boolean =>
  Object.values(OWN_ID_PREFIXES).some((prefix) => id.startsWith(prefix));
