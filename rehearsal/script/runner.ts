import { AdminError } from '../admin/admin-error.js';
import type { AdminParts } from '../admin/parts.js';
import { runVerb } from '../admin/verbs.js';
import type { JournalEvent } from '../journal.js';
import { Random, seededState } from '../random.js';
import type { Actor } from '../timeline.js';
import type { Call, Scene } from './actions.js';
import { effectsOf, setupOf } from './actions.js';
import type { EventState } from './agenda.js';
import { beginEvent, isOver, nextTurn, noteState, takeTurn } from './agenda.js';
import type { ScriptProgress } from './progress.js';
import { progressOf } from './progress.js';
import type { Script, ScriptEvent } from './read-script.js';
import { readScript } from './read-script.js';
import type { Ending, ScriptState } from './state.js';

interface Running {
  readonly script: Script;
  readonly state: ScriptState;
  readonly random: Random;
}

type Turn = { readonly at: number } & (
  | { readonly kind: 'event'; readonly event: ScriptEvent; readonly state: EventState }
  | { readonly kind: 'end'; readonly entry: Ending }
);

/** Runs one fault script at a time on the cloud's clock. Its events call the admin interface's verbs. */
export class ScriptRunner implements Actor {
  readonly #parts: AdminParts;
  #running: Running | undefined;

  /** @param state of a script that was running when the rehearsal ended. @throws ScriptError if it can no longer be read */
  constructor(parts: AdminParts, state?: ScriptState) {
    this.#parts = parts;
    if (state !== undefined)
      this.#running = { script: readScript(state.text), state, random: new Random(state.random) };
    parts.journal.onEvent((event) => this.#observe(event));
  }

  /** State to keep over a restart. */
  get state(): ScriptState | undefined {
    return this.#running?.state;
  }

  /** Replaces the running script, whose lasting effects end. @throws ScriptError and changes nothing if `text` is invalid */
  start(text: string): void {
    const script = readScript(text);
    this.stop();
    const { cloud, clock, journal } = this.#parts;
    const seed = script.seed ?? cloud.state.seed;
    const startedAt = clock.now();
    const random = seededState(seed);
    const drawn = new Random(random);
    const events = script.events.map((event) => beginEvent(event, startedAt, drawn));
    journal.record('script', 'start', { seed, events: script.events.length });
    for (const call of setupOf(script, cloud.state.settings)) this.#run(call);
    this.#running = { script, state: { text, seed, startedAt, random, events, later: [], done: [] }, random: drawn };
    this.#observeWhatIs(startedAt);
  }

  /** Ends temporary effects now. Permanent changes stay. */
  stop(): void {
    const { state } = this.#running ?? {};
    this.#running = undefined;
    if (state === undefined) return;
    for (const { call } of state.later) this.#run(call);
    this.#parts.journal.record('script', 'stop', { done: state.done.length });
  }

  progress(): ScriptProgress {
    return progressOf(this.#running);
  }

  isActive(): boolean {
    return this.#running !== undefined;
  }

  nextDue(): number | undefined {
    return this.#nextTurn()?.at;
  }

  act(): void {
    const now = this.#parts.clock.now();
    for (let turn = this.#nextTurn(); turn !== undefined && turn.at <= now; turn = this.#nextTurn()) {
      if (turn.kind === 'end') this.#end(turn.entry);
      else this.#turn(turn.event, turn.state, now);
    }
  }

  /** The earliest turn. At the same time, ends of effects come first, then events in the order of the script. */
  #nextTurn(): Turn | undefined {
    if (this.#running === undefined) return undefined;
    const { script, state } = this.#running;
    const ends = state.later.map((entry): Turn => ({ kind: 'end', at: entry.at, entry }));
    const turns = script.events.flatMap((event, index): Turn[] => {
      const eventState = state.events[index];
      const at = eventState && nextTurn(event, eventState);
      return eventState === undefined || at === undefined ? [] : [{ kind: 'event', at, event, state: eventState }];
    });
    return [...ends, ...turns].reduce<Turn | undefined>((a, b) => (a === undefined || b.at < a.at ? b : a), undefined);
  }

  #end(entry: Ending): void {
    const { state } = this.#running as Running;
    state.later = state.later.filter((each) => each !== entry);
    this.#run(entry.call);
  }

  #turn(event: ScriptEvent, eventState: EventState, now: number): void {
    const { state, random } = this.#running as Running;
    const subject = takeTurn(event, eventState, now, random);
    const told = { at: now, line: event.line, action: event.action, ...(subject !== undefined && { subject }) };
    if (event.chance < 1 && random.fraction() >= event.chance) {
      state.done.push({ ...told, result: 'left out by chance' });
      return;
    }
    const { calls, later } = effectsOf(event, this.#scene(subject));
    const failures = calls.flatMap((call) => this.#run(call) ?? []);
    const ends = later.map(({ afterMs, call }) => ({ at: now + afterMs, call, line: event.line }));
    state.later = [...state.later, ...ends];
    const result = failures.length > 0 ? failures.join('; ') : calls.length === 0 ? 'nothing matches' : 'done';
    state.done.push({ ...told, result });
    this.#parts.journal.record('script', event.action, { line: event.line, subject, result });
  }

  /** @returns why the call failed, if it did. This is no fault of the script: a node may be gone by then */
  #run({ verb, body }: Call): string | undefined {
    try {
      const result = runVerb(this.#parts, verb, body, 'script');
      if (result instanceof Promise) result.catch((error: unknown) => this.#tellFailure(verb, error));
      return undefined;
    } catch (error) {
      if (error instanceof AdminError) return error.message;
      throw error;
    }
  }

  /** Journals a failure that a VM reports later. */
  #tellFailure(verb: string, error: unknown): void {
    this.#parts.journal.record('script', 'failure', { verb, error: String(error) });
  }

  #scene(subject: string | undefined): Scene {
    const { nodes, queuedResources, settings } = this.#parts.cloud.state;
    return {
      settings,
      nodes: Object.values(nodes).map(({ resource }) => ({
        name: resource.name,
        queuedResource: resource.queuedResource,
      })),
      queuedResources: Object.keys(queuedResources),
      subject,
      random: (this.#running as Running).random,
    };
  }

  #observe({ kind, subject, at, details }: JournalEvent): void {
    if (kind === 'node-state' || kind === 'queued-resource-state') {
      this.#note({ kind, subject, at, to: String(details['to']) });
    }
  }

  /** A resource that is already in its state when the script starts counts as entering it then. */
  #observeWhatIs(at: number): void {
    const { nodes, queuedResources } = this.#parts.cloud.state;
    for (const { resource } of Object.values(nodes)) {
      this.#note({ kind: 'node-state', subject: resource.name, at, to: resource.state });
    }
    for (const { resource } of Object.values(queuedResources)) {
      this.#note({ kind: 'queued-resource-state', subject: resource.name, at, to: resource.state.state });
    }
  }

  #note(entered: { readonly kind: string; readonly subject: string; readonly at: number; readonly to: string }): void {
    if (this.#running === undefined) return;
    const { script, state, random } = this.#running;
    for (const [index, event] of script.events.entries()) {
      const eventState = state.events[index];
      if (eventState !== undefined && !isOver(event, eventState)) noteState(event, eventState, entered, random);
    }
  }
}
