import { askedMachines } from '../../domain/machines.js';
import type { JobFile } from './job-file.js';

/** The zones of a job, as tries that count on past their end, round by round. */
export class Zones {
  #current: number;
  readonly #file: JobFile;

  constructor(file: JobFile, current = 0) {
    this.#file = file;
    this.#current = current;
  }

  /** The try whose slices are the job's own. */
  get current(): number {
    return this.#current;
  }

  get zone(): string {
    return this.of(this.#current);
  }

  of(zoneTry: number): string {
    const { zones } = askedMachines(this.#file.spec);
    return zones[zoneTry % zones.length] as string;
  }

  /** The other tries of one round, the next first. */
  get others(): readonly number[] {
    const { zones } = askedMachines(this.#file.spec);
    return Array.from({ length: zones.length - 1 }, (_, at) => this.#current + 1 + at);
  }

  follow(zoneTry: number): void {
    this.#current = zoneTry;
  }

  /** @throws RangeError for a zone that the job does not name */
  begin(zone: string): void {
    const next = [this.#current, ...this.others].find((each) => this.of(each) === zone);
    if (next === undefined) throw new RangeError(`'${zone}' is none of the job's zones`);
    this.#current = next;
  }

  /** The next slices are asked for in the next zone. */
  leave(): void {
    this.#current += 1;
  }
}
