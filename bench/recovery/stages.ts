import type { JournalEvent } from '../../rehearsal/journal.js';
import type { CloudJournal } from './cloud-journal.js';

/** A recovery, from the command on a slice that was taken to the job's next command. Times are epoch ms of this computer. */
export interface Recovery {
  readonly job: string;
  readonly lost: string;
  readonly next: string;
  /** When the command saw its notice, by its own report. */
  readonly heardAt: number | undefined;
  /** When the next attempt's command began, by its own report. */
  readonly runsAt: number;
}

/** In order of time. All stages but `heard` and `runs` are read from the cloud's journal. */
export const STAGES = {
  heard: 'the command has its notice',
  noticed: 'noticed: our first delete call',
  gone: 'slice gone: node and queued resource',
  asked: 'asked again: our next create call',
  ready: 'hosts ready: READY and ACTIVE',
  runs: 'running again: the next command began',
} as const;

export type Stage = keyof typeof STAGES;

/** Milliseconds from the preemption to each stage. */
export type StageTimes = Partial<Record<Stage, number>>;

/** @throws Error if the journal lacks a stage: then the recovery is not of the kind that is measured */
export function stageTimes(recovery: Recovery, journal: CloudJournal): StageTimes {
  const { lost, next, heardAt, runsAt } = recovery;
  const from = journal.preemptedAt(lost);
  if (from === undefined) throw new Error(`the journal has no preemption of ${lost}`);
  const after = (name: string, what: string, is: (event: JournalEvent) => boolean, pick: 'first' | 'last'): number => {
    const found = journal.of(name).filter((event) => event.wall >= from && is(event));
    const event = pick === 'first' ? found[0] : found.at(-1);
    if (event === undefined) throw new Error(`the journal has no ${what} of ${name}, whose job runs again as ${next}`);
    return event.wall - from;
  };
  return {
    ...(heardAt === undefined ? {} : { heard: heardAt - from }),
    noticed: after(lost, 'delete call', isCall('Delete'), 'first'),
    gone: after(lost, 'end', enters('gone'), 'last'),
    asked: after(next, 'create call', isCall('Create'), 'first'),
    ready: after(next, 'READY', (event) => enters('READY')(event) || enters('ACTIVE')(event), 'last'),
    runs: runsAt - from,
  };
}

const isCall =
  (verb: 'Create' | 'Delete') =>
  ({ kind, details }: JournalEvent): boolean =>
    kind === 'api-call' && String(details['method']).startsWith(verb);

const enters =
  (state: string) =>
  ({ kind, details }: JournalEvent): boolean =>
    kind !== 'api-call' && details['to'] === state;
