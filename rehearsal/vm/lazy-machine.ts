import type { Machine } from './machine.js';

/**
 * A machine that boots on first use: a VM without logins costs two listening ports. `asleep` -> `booting` -> `up`, and from any
 * of them `off` for ever. A failed boot rejects for its callers and leaves the machine asleep; the next use tries again.
 */
export class LazyMachine {
  readonly #boot: () => Promise<Machine>;
  #machine: Machine | undefined;
  #booting: Promise<Machine> | undefined;
  #isOff = false;

  /** @param running the machine, if it was found running */
  constructor(running: Machine | undefined, boot: () => Promise<Machine>) {
    this.#machine = running;
    this.#boot = boot;
  }

  /** The machine if it is up. */
  get current(): Machine | undefined {
    return this.#machine;
  }

  /** True unless the machine was switched off or, being up, died. */
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

  /** Kills everything in the machine at once, even while it boots. Repeating is harmless. */
  async switchOff(): Promise<void> {
    this.#isOff = true;
    const machine = this.#machine ?? (await this.#booting?.catch(() => undefined));
    await machine?.kill();
  }
}
