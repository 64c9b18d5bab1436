import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HostConnection, HostFileError } from '../../../cloud/hosts/port.js';
import { Semaphore } from '../../../domain/semaphore.js';
import type { JobHost } from '../hosts/job-hosts.js';
import { HOSTS_AT_ONCE, onEachHost, type reachHosts } from '../hosts/reach.js';
import { type Change, isRefusal, makeChanges, sumsOnHost } from './host-folder.js';
import type { Sayings } from './sayings.js';
import type { FolderLook } from './synced-folder.js';

export type Reached = Awaited<ReturnType<typeof reachHosts>>;

/** Content and mode that a host has of each file, as far as they came from here. */
type Held = Map<string, { readonly sha256: string; readonly mode: number }>;

/** The result of the last try on a host. `refused`: number of changes that it could not make. */
interface Outcome {
  readonly refused: number;
  readonly isReached: boolean;
  /** Bytes of the files that changed there, by path. */
  readonly changed: ReadonlyMap<string, number>;
}

export interface State {
  readonly refused: number;
  readonly unreached: number;
  readonly busy: number;
}

const PATIENCE_MS = 10_000;

interface BringerOptions {
  readonly says: Pick<Sayings, 'once' | 'answer' | 'brought'>;
  readonly signal: AbortSignal;
  readonly on?: typeof onEachHost;
  readonly patienceMs?: number;
}

/** Brings hosts into step with looks at the folder. A host that hangs holds up no other. */
export class Bringer {
  readonly #path: string;
  readonly #says: BringerOptions['says'];
  readonly #signal: AbortSignal;
  readonly #on: typeof onEachHost;
  readonly #patienceMs: number;
  readonly #permits = new Semaphore(HOSTS_AT_ONCE);
  readonly #held = new Map<string, Held>();
  readonly #last = new Map<string, Outcome>();
  readonly #busy = new Set<string>();

  /**
   * @param path the folder on the hosts
   * @param patienceMs after so long the others no longer wait for a host
   */
  constructor(path: string, { says, signal, on = onEachHost, patienceMs = PATIENCE_MS }: BringerOptions) {
    this.#path = path;
    this.#says = says;
    this.#signal = signal;
    this.#on = on;
    this.#patienceMs = patienceMs;
  }

  knows(host: JobHost): boolean {
    return this.#held.has(idOf(host));
  }

  /** The changes that these hosts refused, hosts that were not reached, and hosts whose try is still open. */
  state(hosts: readonly JobHost[]): State {
    const busy = hosts.filter((host) => this.#busy.has(idOf(host))).length;
    const last = hosts.flatMap((host) => this.#last.get(idOf(host)) ?? []);
    const unreached = last.filter(({ isReached }) => !isReached).length;
    return { refused: last.reduce((sum, { refused }) => sum + refused, 0), unreached, busy };
  }

  /** @param isPatient waits for every host, however long */
  async round(reached: Reached, look: FolderLook, isPatient: boolean): Promise<void> {
    const due = reached.hosts.filter((host) => !this.#busy.has(idOf(host)) && this.#isBehind(host, look));
    const done: Outcome[] = [];
    let isOver = false;
    const tasks = due.map(async (host) => {
      this.#busy.add(idOf(host));
      const outcome = await this.#permits.run(() => this.#bring(reached, host, look));
      this.#busy.delete(idOf(host));
      this.#last.set(idOf(host), outcome);
      if (isOver) this.#tell([outcome]);
      else done.push(outcome);
    });
    const all = Promise.all(tasks);
    const patience = new AbortController();
    const slow = sleep(this.#patienceMs, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([all, slow]);
    patience.abort();
    for (const host of due.filter((each) => this.#busy.has(idOf(each))))
      this.#says.once(`host ${host.number}: has not ended a change for ${this.#patienceMs / 1000} s; the others go on`);
    if (isPatient) await all;
    isOver = true;
    this.#tell(done);
  }

  #isBehind(host: JobHost, look: FolderLook): boolean {
    const held = this.#held.get(idOf(host));
    return held === undefined || changesFor(held, look).length > 0;
  }

  #tell(outcomes: readonly Outcome[]): void {
    if (this.#signal.aborted) return;
    const changed = new Map(outcomes.flatMap((outcome) => [...outcome.changed]));
    const hosts = outcomes.filter((outcome) => outcome.changed.size > 0).length;
    if (changed.size > 0) this.#says.brought(changed, hosts);
  }

  async #bring(reached: Reached, host: JobHost, look: FolderLook): Promise<Outcome> {
    const changed = new Map<string, number>();
    let refused = 0;
    const refuse = (error: unknown): void => {
      if (!(error instanceof HostFileError)) throw error;
      this.#says.once(`host ${host.number}: ${error.message}; trying again`);
      refused += 1;
    };
    try {
      const only = { ...reached, hosts: [host] } as Reached;
      const [result] = await this.#on(only, this.#signal, async (connection) => {
        const held = this.#held.get(idOf(host)) ?? (await this.#heldBy(connection, look).catch(refuse));
        if (held === undefined) return;
        this.#held.set(idOf(host), held);
        const replaced = `.jobctl/replaced/${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`;
        // A file that is being written may be another when it is sent, and must not hold up the others.
        for (const changes of partsOf(changesFor(held, look))) {
          const made = await makeChanges(connection, this.#path, { changes, replaced }, this.#signal).catch(refuse);
          for (const [at, answer] of (made ?? []).entries()) {
            const change = changes[at] as Change;
            if (isRefusal(answer)) refused += 1;
            else note(held, change);
            if (answer === 'done' || answer === 'kept')
              changed.set(
                change.to === undefined ? `${change.path} (removed)` : change.path,
                change.to?.source.size ?? 0,
              );
            this.#says.answer(host.number, change, answer, `~/${replaced}`);
          }
        }
      });
      if (result?.kind === 'unreachable') this.#says.once(`host ${host.number}: ${result.message}; trying again`);
      return { refused, isReached: result?.kind === 'done', changed };
    } catch (error) {
      if (!this.#signal.aborted) this.#says.once(`host ${host.number}: ${(error as Error).message}; trying again`);
      return { refused, isReached: false, changed };
    }
  }

  async #heldBy(connection: HostConnection, { files }: FolderLook): Promise<Held> {
    const sums = await sumsOnHost(connection, this.#path, [...files.keys()], this.#signal);
    const same = [...files].filter(([path, { source }]) => sums.get(path) === source.sha256);
    return new Map(same.map(([path, { source, mode }]) => [path, { sha256: source.sha256, mode }]));
  }
}

/** A new slice is another host. */
const idOf = ({ target }: JobHost): string => `${target.uid} ${target.index}`;

function changesFor(held: Held, { files }: FolderLook): readonly Change[] {
  const puts = [...files].flatMap(([path, { source, mode, isFresh }]): Change[] => {
    const there = held.get(path);
    if (there?.sha256 === source.sha256 && there.mode === mode) return [];
    return [{ path, to: { source, mode, isFresh }, ...(there !== undefined && { from: there.sha256 }) }];
  });
  const removals = [...held].flatMap(([path, { sha256 }]): Change[] =>
    files.has(path) ? [] : [{ path, from: sha256 }],
  );
  // A folder may come where a file was.
  return [...removals, ...puts];
}

const partsOf = (changes: readonly Change[]): readonly (readonly Change[])[] => [
  changes.filter(({ to }) => to?.isFresh !== true),
  changes.filter(({ to }) => to?.isFresh === true),
];

/** Notes the host's new content, or that a file is no longer ours. */
function note(held: Held, { path, to }: Change): void {
  if (to === undefined) held.delete(path);
  else held.set(path, { sha256: to.source.sha256, mode: to.mode });
}
