import type { Machine } from './machine.js';

/**
 * A machine that is booted when somebody wants something of it: a VM that nobody logs in to costs two listening ports.
 * `asleep` -> `booting` -> `up`, and `off` for ever from any of them. A boot that fails leaves it asleep: the next one
 * who wants something of it tries again, and hears why it failed.
 */
export class LazyMachine {
  readonly #boot: () => Promise<Machine>;
  #machine: Machine | undefined;
  #booting: Promise<Machine> | undefined;
  #isOff = false;

  /** @param running the machine, where it was found running. */
  constructor(running: Machine | undefined, boot: () => Promise<Machine>) {
    this.#machine = running;
    this.#boot = boot;
  }

  /** The machine if it is up. */
  get current(): Machine | undefined {
    return this.#machine;
  }

  /** True unless it was switched off or, being up, died. */
  isAlive(): boolean {
    return !this.#isOff && (this.#machine === undefined || this.#machine.isAlive());
  }

  async wake(): Promise<Machine> {
    if (this.#isOff) throw new Error('the VM is down');
    if (this.#machine !== undefined) return this.#machine;
    this.#booting ??= this.#boot().finally(() => (this.#booting = undefined));
    this.#machine = await this.#booting;
    if (this.#isOff) throw new Error('the VM went down while it booted');
    return this.#machine;
  }

  /** Kills everything in it at once, also what is booting. Repeating is harmless. */
  async switchOff(): Promise<void> {
    this.#isOff = true;
    const machine = this.#machine ?? (await this.#booting?.catch(() => undefined));
    await machine?.kill();
  }
}
