import { apiErrors } from './api-error.js';
import type { CloudState } from './state.js';

/** Number of freed addresses that are remembered. */
const KEPT_FREED = 256;
const MOST = 65_534;

/**
 * The hosts' addresses 127.S.a.b, b from 1 to 254. They are given out in a circle, so that an address is not reused soon; with
 * `Settings.recycleAddresses` the last freed address is given out first.
 */
export class Addresses {
  readonly #state: CloudState;
  readonly #subnetOctet: number;
  readonly #taken: Set<string>;

  constructor(state: CloudState, subnetOctet: number) {
    this.#state = state;
    this.#subnetOctet = subnetOctet;
    const hosts = [
      ...Object.values(state.nodes).flatMap((node) => node.hosts),
      ...Object.values(state.compute.vms).map(({ host }) => host),
    ];
    this.#taken = new Set(hosts.map((host) => host.address));
  }

  /** @throws ApiError if the whole subnet is in use */
  take(): string {
    const address = this.#state.settings.recycleAddresses ? (this.#lastFreed() ?? this.#nextFree()) : this.#nextFree();
    this.#taken.add(address);
    return address;
  }

  free(addresses: readonly string[]): void {
    for (const address of addresses) this.#taken.delete(address);
    this.#state.freedAddresses = [...this.#state.freedAddresses, ...addresses].slice(-KEPT_FREED);
  }

  #lastFreed(): string | undefined {
    for (;;) {
      const address = this.#state.freedAddresses.pop();
      if (address === undefined || !this.#taken.has(address)) return address;
    }
  }

  #nextFree(): string {
    for (let tries = 0; tries <= MOST; tries += 1) {
      this.#state.lastAddress = (this.#state.lastAddress % MOST) + 1;
      const [a, b] = [this.#state.lastAddress >> 8, this.#state.lastAddress & 255];
      const address = `127.${this.#subnetOctet}.${a}.${b}`;
      if (b !== 0 && b !== 255 && !this.#taken.has(address)) return address;
    }
    throw apiErrors.noCapacity(`127.${this.#subnetOctet}.0.0/16`);
  }
}
