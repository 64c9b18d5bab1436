import type { RehearsalAdmin } from '../../cli/local/rehearsal/rehearsal-admin.js';
import type { JournalEvent } from '../../rehearsal/journal.js';

const CHANGES: ReadonlySet<string> = new Set(['node-state', 'queued-resource-state']);

/** The rehearsed cloud's journal: calls that it got, and states that its resources entered. Times are this computer's clock. */
export class CloudJournal {
  /** State changes, and calls that create or delete, by the last part of the resource's name. */
  readonly #events = new Map<string, JournalEvent[]>();
  readonly #calls = new Map<string, number>();
  readonly #preempted = new Map<string, number>();
  readonly #admin: RehearsalAdmin;
  #seq = 0;
  #reading: Promise<void> = Promise.resolve();

  constructor(admin: RehearsalAdmin) {
    this.#admin = admin;
  }

  /** Reads the events since the last read. */
  read(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      for (const event of await this.#admin.journal(this.#seq)) this.#note(event);
    });
    return this.#reading;
  }

  of(name: string): readonly JournalEvent[] {
    return this.#events.get(name) ?? [];
  }

  /** When the provider was told to preempt this slice, epoch ms. */
  preemptedAt(name: string): number | undefined {
    return this.#preempted.get(name);
  }

  /** Calls so far, by method. */
  get calls(): ReadonlyMap<string, number> {
    return this.#calls;
  }

  #note(event: JournalEvent): void {
    this.#seq = event.seq;
    const { kind, subject, details, wall } = event;
    const method = String(details['method']);
    if (kind === 'admin' && subject === 'preempt') this.#preempted.set(String(details['name']), wall);
    if (kind === 'api-call') this.#calls.set(method, (this.#calls.get(method) ?? 0) + 1);
    if (!CHANGES.has(kind) && !(kind === 'api-call' && /^(?:Create|Delete)/u.test(method))) return;
    const name = subject.slice(subject.lastIndexOf('/') + 1);
    // Without the image of the resource, which is most of an event.
    const { resource: _, ...rest } = details;
    this.#events.set(name, [...this.of(name), { ...event, details: rest }]);
  }
}
