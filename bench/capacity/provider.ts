import type { Draws } from '../../chaos/random.js';
import { type Availability, DAY, exponential, type Window, type Zone, ZONES } from './availability.js';

const MINUTE = 60_000;
/** Mean wait in a zone that has chips, while requests of others are granted first. Exponential. */
const LINE_MS = 3 * MINUTE;
/** From the grant until the slice is READY. */
export const PROVISION_MS = { least: 2 * MINUTE, most: 6 * MINUTE };
/** Mean time until the provider takes back one slice while its zone still has chips. Exponential. */
const LIFE_MS = 2 * DAY;

/** A clock in virtual time, ms since the start of the month. */
export interface Clock {
  readonly now: number;
  /** @returns a function that cancels the call */
  at(time: number, what: () => void): () => void;
}

export type State = 'waiting' | 'provisioning' | 'ready' | 'lost' | 'removed';

/** A request for one job's gang in one zone. Like Google's queued resource, it waits until it is granted or removed. */
export interface Request {
  readonly zone: Zone;
  readonly state: State;
  /** Called with each state that the request enters. */
  onChange: (state: State) => void;
  remove(): void;
}

interface Own extends Request {
  state: State;
  stop: () => void;
  readyAt: number;
}

/**
 * The spot chips that a provider has for one job. The draws of a grant depend only on the zone, the window and the grant's number
 * in that window, so every strategy meets the same luck.
 */
export class Provider {
  requests = 0;
  /** Most requests that existed at the same time. */
  most = 0;
  /** Periods in which the job had chips: from READY until they were lost or given back. */
  readonly held: Window[] = [];
  readonly #clock: Clock;
  readonly #availability: Availability;
  readonly #draws: Draws;
  readonly #grants = new Map<string, number>();
  readonly #open = new Set<Own>();

  constructor(clock: Clock, availability: Availability, draws: Draws) {
    this.#clock = clock;
    this.#availability = availability;
    this.#draws = draws;
  }

  /** Makes a request that waits in the zone's line until it is granted or removed. */
  ask(zone: Zone): Request {
    const request = this.#begin(zone);
    this.#wait(request);
    return request;
  }

  /** Asks like a create call, which waits in no line. @returns undefined if the zone has no chips at this moment */
  askNow(zone: Zone): Request | undefined {
    const window = this.#windowAt(zone);
    const request = this.#begin(zone);
    if (window !== undefined && window.from <= this.#clock.now) {
      this.#grant(request, window, this.#luck(zone, window));
      return request;
    }
    request.remove();
    return undefined;
  }

  /** Removes all open requests at the end of the month. */
  end(): void {
    for (const request of this.#open) request.remove();
  }

  #begin(zone: Zone): Own {
    const request: Own = {
      zone,
      state: 'waiting',
      onChange: () => undefined,
      stop: () => undefined,
      readyAt: 0,
      remove: () => this.#finish(request, 'removed'),
    };
    this.requests += 1;
    this.#open.add(request);
    this.most = Math.max(this.most, this.#open.size);
    return request;
  }

  #wait(request: Own): void {
    request.state = 'waiting';
    const window = this.#windowAt(request.zone);
    if (window === undefined) return;
    const luck = this.#luck(request.zone, window);
    const grantAt = Math.max(window.from, this.#clock.now) + Math.round(exponential(luck) * LINE_MS);
    request.stop =
      grantAt < window.to
        ? this.#clock.at(grantAt, () => this.#grant(request, window, luck))
        : this.#clock.at(window.to, () => this.#wait(request));
  }

  #grant(request: Own, window: Window, luck: Draws): void {
    this.#become(request, 'provisioning');
    const readyAt = this.#clock.now + luck.between(PROVISION_MS.least, PROVISION_MS.most);
    const lostAt = Math.min(window.to, readyAt + Math.round(exponential(luck) * LIFE_MS));
    // As at Google, a request may go from PROVISIONING back to WAITING_FOR_RESOURCES.
    if (readyAt >= window.to) request.stop = this.#clock.at(window.to, () => this.#wait(request));
    else
      request.stop = this.#clock.at(readyAt, () => {
        request.readyAt = readyAt;
        request.stop = this.#clock.at(lostAt, () => this.#finish(request, 'lost'));
        this.#become(request, 'ready');
      });
  }

  #finish(request: Own, state: 'lost' | 'removed'): void {
    if (!this.#open.delete(request)) return;
    request.stop();
    if (request.state === 'ready') this.held.push({ from: request.readyAt, to: this.#clock.now });
    this.#become(request, state);
  }

  #become(request: Own, state: State): void {
    request.state = state;
    request.onChange(state);
  }

  /** The current window, or else the next one. */
  #windowAt(zone: Zone): Window | undefined {
    return this.#availability[zone].find(({ to }) => to > this.#clock.now);
  }

  #luck(zone: Zone, window: Window): Draws {
    const key = `${zone} ${window.from}`;
    const grant = (this.#grants.get(key) ?? 0) + 1;
    this.#grants.set(key, grant);
    return this.#draws
      .part(ZONES.indexOf(zone) + 1)
      .part(Math.floor(window.from / MINUTE))
      .part(grant);
  }
}
