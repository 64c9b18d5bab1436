import { createHash } from 'node:crypto';
import type { HostConnection } from '../../cloud/hosts/port.js';
import { Semaphore } from '../../domain/semaphore.js';
import { objectPlace, ObjectTooLong, readAtMost, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { isNamedOutput } from '../../domain/outputs.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { commandContainer } from '../../domain/modules/command.js';
import {
  keepsScript,
  KEPT,
  nothingToRestore,
  PUT_BACK,
  RESTORE,
  restoreFolder,
  restoreList,
  type RestoredRound,
  restorePlan,
  type StoredContents,
} from '../../domain/modules/restore.js';
import type { FileSource } from '../../domain/local-files.js';
import {
  manifestPlace,
  outputContentObject,
  outputManifestObject,
  outputManifestsPrefix,
  outputsPrefix,
} from '../../domain/store-layout.js';
import { ManifestWrong, type OutputFile, readManifest } from '../../domain/stored-outputs.js';
import { count, type EpochMs, sizeText } from '../../domain/units.js';
import { largest, smallest } from '../../domain/extremes.js';
import { type AttemptHost, commandHostsOf } from './attempt-hosts.js';
import { outputsOf } from './outputs.js';
import type { StoredFiles } from './set-up-host.js';
import { readPatiently } from './store-patience.js';

/** Manifests in memory at one time: they may be large, and each host has one. */
const WIDTH = 4;
/** Hosts that are handed their contents at one time, with some 8 MiB each in memory here. */
export const handing = new Semaphore(8);
/** Bytes of one read. */
const PIECE_BYTES = 8 * 1024 * 1024;
/** Characters that are kept of a host's last output. */
const MOST_HEARD = 1_000;

/**
 * Files that the hosts of an attempt get back from earlier attempts (docs/adr/0124): each gets the last whole round that a host
 * in its place stored. This part of a set-up is a module without a section in the job file.
 */
export class Restore implements StoredFiles {
  readonly module = RESTORE;
  readonly #store: StorePort;
  readonly #input: AttemptInput;
  readonly #lanes: Promise<unknown>[] = Array.from({ length: WIDTH }, () => Promise.resolve());
  readonly #restored = new Map<number, HostRestored>();
  readonly #heard = new Map<number, string>();
  /** Rounds for hosts that do not fetch contents themselves. */
  readonly #handed = new Map<number, RestoredRound>();
  #attempts: Promise<ReadonlyMap<number, readonly number[]>> | undefined;

  /** Undefined: this attempt gets nothing back. */
  static of(store: StorePort, input: AttemptInput): Restore | undefined {
    const { spec, attempt } = input;
    if (spec.outputs?.restore !== true || spec.command === undefined || attempt < 2) return undefined;
    return new Restore(store, input);
  }

  private constructor(store: StorePort, input: AttemptInput) {
    this.#store = store;
    this.#input = input;
  }

  /** Undefined for a host that does not run the command. @throws ManifestWrong */
  async planFor(host: AttemptHost): Promise<ModulePlan | undefined> {
    if (!commandHostsOf(this.#input).some(({ number }) => number === host.number)) return undefined;
    const found = await this.#inLane(host.number, () => readPatiently(this.#input, () => this.#lastWhole(host.number)));
    if (found === undefined) {
      this.#restored.set(host.number, { kind: 'nothing' });
      const why = `nothing is put back: no attempt has stored its files as they were at one moment (host ${host.number})`;
      return nothingToRestore(why, this.#input.attempt);
    }
    const { entries, ...round } = found;
    const outputs = outputsOf(this.#store, this.#input, host);
    if (outputs.as === 'worker') this.#handed.set(host.number, found);
    this.#restored.set(host.number, { kind: 'restored', ...round });
    const { job, attempt, spec } = this.#input;
    const list = listSource(restoreList(entries, job.id));
    return restorePlan(
      {
        job: job.id,
        attempt,
        outputs,
        contents: contentsOf(this.#store),
        isForAnybody: commandContainer(spec) !== undefined,
      },
      found,
      list,
      { sha256 },
    );
  }

  /** Whether the host gets its contents by `hand`, before its plan is made. */
  isHanded({ number }: AttemptHost): boolean {
    return this.#handed.has(number);
  }

  /**
   * Puts the contents of a host's files beside them, if the host does not fetch them itself. A repetition continues where the
   * last one stopped.
   * @throws ManifestWrong for contents that differ from the stored ones
   */
  async hand({ number }: AttemptHost, connection: HostConnection, signal: AbortSignal): Promise<void> {
    const round = this.#handed.get(number);
    if (round === undefined) return;
    const { job } = this.#input;
    await handing.run(async () => {
      let said = '';
      const onStdout = (chunk: Buffer): void => void (said = `${said}${chunk.toString()}`.slice(-MOST_HEARD));
      await connection.exec(keepsScript(job.id, number, round), { onStdout, onStderr: () => undefined, signal });
      if (/^keeps$/m.test(said)) return;
      await connection.putContents(this.#contentsOf(round), restoreFolder(job.id), signal);
    });
  }

  #contentsOf({ entries }: RestoredRound): readonly FileSource[] {
    const sources = entries.flatMap((entry) =>
      entry.kind === 'file' ? [[entry.sha256, contentSource(this.#store, this.#input.job.id, entry)] as const] : [],
    );
    return [...new Map(sources).values()];
  }

  /** Takes the output of a host as it gets its files. */
  heard(host: AttemptHost, output: string): void {
    this.#heard.set(host.number, `${this.#heard.get(host.number) ?? ''}${output}`.slice(-MOST_HEARD));
  }

  /** For the job's story, when all hosts are ready. Hosts that another worker has set up are not known here. */
  get text(): string {
    const ended = [...this.#restored].flatMap(([host, restored]) => {
      const heard = this.#heard.get(host) ?? '';
      if (heard.includes(KEPT)) return [[host, { kind: 'kept' }] as const];
      return restored.kind === 'nothing' || heard.includes(PUT_BACK) ? [[host, restored] as const] : [];
    });
    return restoredText(new Map<number, HostRestored>(ended));
  }

  #inLane<T>(number: number, read: () => Promise<T>): Promise<T> {
    const lane = number % WIDTH;
    const reading = (this.#lanes[lane] ?? Promise.resolve()).then(read, read);
    this.#lanes[lane] = reading.catch(() => undefined);
    return reading;
  }

  /** The newest whole round of a host that has files. @throws ManifestWrong */
  async #lastWhole(host: number): Promise<RestoredRound | undefined> {
    const attempts = (await (this.#attempts ??= this.#listed())).get(host) ?? [];
    for (const attempt of attempts) {
      const name = outputManifestObject(this.#input.job.id, attempt, host);
      const manifest = await this.#manifest(name);
      if (manifest?.isWhole !== true) continue;
      const patterns = this.#input.spec.outputs?.patterns ?? [];
      // Anyone who may write the bucket can have made it, so only files that the job file names are put back.
      const entries = manifest.entries.filter(
        ({ path, isInOutputDir }) => isInOutputDir === true || isNamedOutput(path, patterns),
      );
      if (entries.length === 0) continue;
      const sizes = entries.flatMap((entry) => (entry.kind === 'file' ? [entry.size] : []));
      return {
        attempt,
        at: manifest.at,
        entries,
        files: sizes.length,
        bytes: sizes.reduce((sum, size) => sum + size, 0),
      };
    }
    return undefined;
  }

  async #manifest(name: string) {
    try {
      const content = await readAtMost(this.#store, name);
      return content && readManifest(content, 'bytes');
    } catch (error) {
      if (!(error instanceof ManifestWrong || error instanceof ObjectTooLong)) throw error;
      throw new ManifestWrong(`${objectPlace(this.#store, name)} ${error.message}`);
    }
  }

  /** Attempts before this one that have a manifest, by host, the newest first. */
  async #listed(): Promise<ReadonlyMap<number, readonly number[]>> {
    const { job, attempt } = this.#input;
    const byHost = new Map<number, number[]>();
    for (const { name } of await this.#store
      .list(outputManifestsPrefix(job.id))
      .catch((error: unknown) => this.#forget(error))) {
      const place = manifestPlace(job.id, name);
      if (place === undefined || place.attempt >= attempt) continue;
      byHost.set(place.host, [...(byHost.get(place.host) ?? []), place.attempt]);
    }
    for (const attempts of byHost.values()) attempts.sort((a, b) => b - a);
    return byHost;
  }

  /** Drops a listing that failed, so that it is made again. */
  #forget(error: unknown): never {
    this.#attempts = undefined;
    throw error;
  }
}

/** A content that a job has stored, which is compared with its hash as it is read. */
export function contentSource(
  store: Pick<StorePort, 'bucket' | 'read'>,
  job: string,
  { path, sha256: wanted, size }: Pick<OutputFile, 'path' | 'sha256' | 'size'>,
): FileSource {
  const name = outputContentObject(job, wanted);
  const wrong = (what: string): ManifestWrong => new ManifestWrong(`${path}: ${what} (${objectPlace(store, name)})`);
  return {
    ...{ sha256: wanted, size },
    read: async function* (start) {
      const hash = createHash('sha256');
      for (let at = start; at < size; at += PIECE_BYTES) {
        const end = Math.min(at + PIECE_BYTES, size);
        const bytes = await store.read(name, { start: at, end });
        if (bytes?.length !== end - at) throw wrong('its content is not in the store any more, or not all of it');
        hash.update(bytes);
        yield bytes;
      }
      if (start === 0 && hash.digest('hex') !== wanted)
        throw wrong('what is stored is not what its host stored (SHA-256): somebody has changed it');
    },
  };
}

/** The stored contents of any job. */
export const contentsOf = (store: Pick<StorePort, 'bucket' | 'downloadUrl'>): StoredContents => ({
  url: store.downloadUrl(outputContentObject('SOURCEJOB', 'SHA256')) ?? '',
  place: objectPlace(store, outputsPrefix('SOURCEJOB')),
});

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

export function listSource(text: string): FileSource {
  const content = Buffer.from(text, 'latin1');
  return {
    size: content.length,
    sha256: sha256(content),
    read: async function* (start) {
      yield content.subarray(start);
    },
  };
}

/** Files that a host got back before an attempt's command started (docs/adr/0124). */
type HostRestored =
  | {
      readonly kind: 'restored';
      /** The attempt that stored them. */
      readonly attempt: number;
      readonly at: EpochMs;
      readonly files: number;
      readonly bytes: number;
    }
  /** The host ran that attempt, or a later one, and still has its files. */
  | { readonly kind: 'kept' }
  /** The store has no complete round of the host. */
  | { readonly kind: 'nothing' };

type Restored = Extract<HostRestored, { kind: 'restored' }>;

/**
 * `restored 12 files (4.8 GB) of attempt 1 on 4 hosts, as stored at 12:03:10Z; what was written to them after that is lost`. If
 * the times of several hosts differ, it shows their range.
 */
function restoredText(hosts: ReadonlyMap<number, HostRestored>): string {
  const all = [...hosts.values()];
  const restored = all.flatMap((one) => (one.kind === 'restored' ? [one] : []));
  const kept = all.filter(({ kind }) => kind === 'kept').length;
  const without = [...hosts].flatMap(([host, { kind }]) => (kind === 'nothing' ? [host] : []));
  const attempts = [...new Set(restored.map(({ attempt }) => attempt))].toSorted((a, b) => b - a);
  const texts = attempts.map((attempt) => ofAttempt(restored.filter((one) => one.attempt === attempt)));
  return [
    ...texts,
    ...(kept === 0 ? [] : [`${count(kept, 'host')} ${kept === 1 ? 'has its' : 'have their'} files still`]),
    ...(without.length === 0 ? [] : [`NOTHING is put back on ${hostsText(without)}: nothing whole was stored there`]),
  ].join('; ');
}

function ofAttempt(hosts: readonly Restored[]): string {
  const sum = (of: (one: Restored) => number): number => hosts.reduce((total, one) => total + of(one), 0);
  const [first, last] = [smallest(hosts.map(({ at }) => at)), largest(hosts.map(({ at }) => at))].map(time);
  const when = first === last ? `at ${first}` : `from ${first} to ${last}`;
  const files = `${count(
    sum(({ files: number }) => number),
    'file',
  )} (${sizeText(sum(({ bytes }) => bytes))})`;
  return `restored ${files} of attempt ${hosts[0]?.attempt} on ${count(hosts.length, 'host')}, as stored ${when}; what was written to them after that is lost`;
}

const time = (at: EpochMs): string => `${new Date(at).toISOString().slice(11, 19)}Z`;

const hostsText = (hosts: readonly number[]): string =>
  `${hosts.length === 1 ? 'host' : 'hosts'} ${hosts.slice(0, 5).join(', ')}${hosts.length > 5 ? `, .. (${hosts.length})` : ''}`;
