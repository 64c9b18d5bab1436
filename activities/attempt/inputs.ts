import { type HostConnection, reachesStore } from '../../cloud/hosts/port.js';
import { objectPlace, readAtMost, type StorePort } from '../../cloud/store/port.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { entriesAt, type FoundInput } from '../../domain/inputs.js';
import { INPUTS, inputsPlan, inputsStage } from '../../domain/modules/inputs.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import { restoreList } from '../../domain/modules/restore.js';
import { inputsObject, outputsPrefix } from '../../domain/store-layout.js';
import { ManifestWrong, type OutputEntry } from '../../domain/stored-outputs.js';
import { count, sizeText } from '../../domain/units.js';
import { manifestEntries } from '../inputs.js';
import { type AttemptHost, commandHostsOf } from './attempt-hosts.js';
import { contentsOf, contentSource, handing, listSource, sha256 } from './restore.js';
import type { StoredFiles } from './set-up-host.js';
import { readPatiently } from './store-patience.js';

/** Stored files of one job, at their places below the folder of the inputs. */
interface Part {
  readonly job: string;
  readonly entries: readonly OutputEntry[];
}

/**
 * The stored outputs of other jobs that every host of the command gets (docs/adr/0173). `findInputs` has said which, before the job
 * asked for chips. This part of a set-up is a module without steps of its own in the job file.
 */
export class Inputs implements StoredFiles {
  readonly module = INPUTS;
  readonly #store: StorePort;
  readonly #input: AttemptInput;
  #parts: Promise<readonly Part[]> | undefined;

  /** Undefined: the job has none. */
  static of(store: StorePort, input: AttemptInput): Inputs | undefined {
    const { inputs, command } = input.spec;
    return inputs === undefined || command === undefined ? undefined : new Inputs(store, input);
  }

  private constructor(store: StorePort, input: AttemptInput) {
    this.#store = store;
    this.#input = input;
  }

  async planFor(host: AttemptHost): Promise<ModulePlan | undefined> {
    if (!commandHostsOf(this.#input).some(({ number }) => number === host.number)) return undefined;
    const parts = await (this.#parts ??= this.#read());
    const files = parts.flatMap(({ entries }) => entries.flatMap((each) => (each.kind === 'file' ? [each.size] : [])));
    const bytes = files.reduce((sum, size) => sum + size, 0);
    const list = listSource(parts.map(({ job, entries }) => restoreList(entries, job)).join(''));
    const contents = contentsOf(this.#store);
    const itself = contents.url.startsWith('http:') ? 'nobody' : 'service-account';
    const as = this.isHanded(host) ? 'worker' : itself;
    const what = `${count(files.length, 'file')} (${sizeText(bytes)})`;
    return inputsPlan({ job: this.#input.job.id, as, contents, what }, list, { sha256 });
  }

  isHanded({ target }: AttemptHost): boolean {
    return !reachesStore(target, this.#store.bucket);
  }

  async hand(_: AttemptHost, connection: HostConnection, signal: AbortSignal): Promise<void> {
    const parts = await (this.#parts ??= this.#read());
    const sources = parts.flatMap(({ job, entries }) =>
      entries.flatMap((entry) =>
        entry.kind === 'file' ? [[entry.sha256, contentSource(this.#store, job, entry)] as const] : [],
      ),
    );
    const contents = [...new Map(sources).values()];
    await handing.run(() => connection.putContents(contents, inputsStage(this.#input.job.id), signal));
  }

  heard(): void {
    // Its log says all.
  }

  /** @throws ManifestWrong for files that were there when the job began, and are not any more */
  #read(): Promise<readonly Part[]> {
    const parts = readPatiently(this.#input, async () => {
      const found: Part[] = [];
      for (const input of await this.#found()) found.push(...(await this.#partsOf(input)));
      return found;
    });
    parts.catch(() => (this.#parts = undefined));
    return parts;
  }

  async #found(): Promise<readonly FoundInput[]> {
    const name = inputsObject(this.#input.job.id);
    const content = await readAtMost(this.#store, name);
    if (content === undefined) throw new ManifestWrong(`${objectPlace(this.#store, name)} is not there any more`);
    return (JSON.parse(content.toString('utf8')) as { readonly inputs: readonly FoundInput[] }).inputs;
  }

  async #partsOf({ name, path, files, sources }: FoundInput): Promise<readonly Part[]> {
    const parts: Part[] = [];
    for (const source of sources) {
      const entries = entriesAt(await manifestEntries(this.#store, source), path).map((entry) =>
        readable({ ...entry, path: `${name}/${source.folder}${entry.path}` }),
      );
      parts.push({ job: source.job, entries });
    }
    const there = parts.flatMap(({ entries }) => entries).filter(({ kind }) => kind === 'file').length;
    if (there === files) return parts;
    const place = objectPlace(this.#store, outputsPrefix(sources[0]?.job ?? name));
    throw new ManifestWrong(
      `input ${name}: ${there} of its ${files} files are stored at ${place}, and all were there when the job began`,
    );
  }
}

/** Everybody may read a file, since a container's user may be anybody, and nobody writes it. */
const readable = (entry: OutputEntry): OutputEntry =>
  entry.kind === 'file' ? { ...entry, mode: (entry.mode & 0o111) === 0 ? 0o444 : 0o555 } : entry;
