/**
 * A change of workflow code that is made while workflows are open (docs/adr/0037). Temporal replays a history on today's code. A
 * change that would act differently from the history therefore keeps the old way beside the new one, as long as an open workflow
 * needs it.
 */
export interface Change {
  /** One sentence for the operator who switches the change on. */
  readonly what: string;
  /** First version that knows both ways. */
  readonly since: string;
  /** Workflow types whose code asks `isChanged` for it. */
  readonly workflows: readonly ('job' | 'slice' | 'quota' | 'janitor' | 'build')[];
  /**
   * `known`: the code has both ways, and the installation's switch decides which one a workflow takes.
   * `required`: the old way is gone. A worker takes no work unless the change is in force and no open workflow of these types
   * began before that. `jobctl setup server` checks both beforehand.
   */
  readonly phase: 'known' | 'required';
}

const changes = {} as const satisfies Readonly<Record<string, Change>>;

export type ChangeId = keyof typeof changes;
/** Changes of this build, by id. An id is never used twice. */
export const CHANGES: Readonly<Record<string, Change>> = changes;

/** Delay in milliseconds until a change that was switched on is in force: workers that do not know it have stopped by then. */
export const ACTIVATION_DELAY_MS = 120_000;

/** One switch of an installation. */
export interface ChangeSwitch {
  /** New workflows take the new way from this time on: milliseconds since 1970. */
  readonly activeFrom: number;
  /** From this time on, no further workflow takes the new way. Workflows that carry its marker go on with it. */
  readonly inactiveFrom?: number;
  /** The user who moved it last. */
  readonly by: string;
}

/** Object `system/changes.json` of the bucket. A switch that was ever on stays in it. */
export interface ChangeSwitches {
  readonly v: 1;
  readonly changes: Readonly<Record<string, ChangeSwitch>>;
}

export const NO_SWITCHES: ChangeSwitches = { v: 1, changes: {} };

/** @throws Error if the text has another form: a worker that cannot read the switches takes no work */
export function readSwitches(text: string | undefined): ChangeSwitches {
  if (text === undefined) return NO_SWITCHES;
  const value = JSON.parse(text) as Partial<ChangeSwitches> | null;
  if (value?.v !== 1 || typeof value.changes !== 'object')
    throw new Error(`v is ${JSON.stringify(value?.v)}, not 1: a newer jobctl wrote it; update this build`);
  return value as ChangeSwitches;
}

export const isSwitchedOn = ({ inactiveFrom }: ChangeSwitch): boolean => inactiveFrom === undefined;

/** A new installation has no workflow that could need an old way, so changes that this build requires are in force at once. */
export function switchesOfNewInstallation(known: Readonly<Record<string, Change>>, at: number): ChangeSwitches {
  const required = Object.entries(known).filter(([, { phase }]) => phase === 'required');
  return { v: 1, changes: Object.fromEntries(required.map(([id]) => [id, { activeFrom: at, by: 'setup' }])) };
}

export function isInForce({ changes }: ChangeSwitches, id: string, now: number): boolean {
  const one = Object.hasOwn(changes, id) ? changes[id] : undefined;
  return one !== undefined && isSwitchedOn(one) && now >= one.activeFrom;
}

/** Visibility query of the workflows that may have taken the old way of a change: they began before it was active. */
export function olderThan({ workflows }: Change, { activeFrom }: ChangeSwitch): string {
  const types = workflows.map((type) => `'${type}'`).join(', ');
  return `WorkflowType IN (${types}) AND StartTime < '${new Date(activeFrom).toISOString()}'`;
}

/** The switches after a move. A switch that is already in that position keeps its time. */
export function switched(
  { v, changes }: ChangeSwitches,
  move: { readonly id: string; readonly to: 'on' | 'off'; readonly by: string; readonly at: number },
): ChangeSwitches {
  const { id, to, by, at } = move;
  const before = changes[id];
  if (to === 'on' && before && isSwitchedOn(before)) return { v, changes };
  if (to === 'off' && (!before || !isSwitchedOn(before))) return { v, changes };
  const after = to === 'on' ? { activeFrom: at, by } : { activeFrom: before?.activeFrom ?? at, inactiveFrom: at, by };
  return { v, changes: { ...changes, [id]: after } };
}
