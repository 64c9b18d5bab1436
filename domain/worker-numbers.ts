import type { SliceHost } from './slice.js';

/**
 * Whether a provider listed the hosts of a slice in the order of their workers, according to the hosts. Google promises no order
 * of `networkEndpoints`, and training programs number themselves by their host's answer (docs/adr/0047).
 */
export type Numbering =
  | { readonly kind: 'as-listed' }
  /** Hosts in their true order, each with its true index. */
  | { readonly kind: 'renumbered'; readonly hosts: readonly SliceHost[] }
  /** The hosts are not the workers of one slice. */
  | { readonly kind: 'contradictory'; readonly message: string };

/** @param said each host's worker number, in the same order; undefined if the host cannot tell */
export function numberingOf(hosts: readonly SliceHost[], said: readonly (number | undefined)[]): Numbering {
  if (said.every((number, place) => number === undefined || number === hosts[place]?.index))
    return { kind: 'as-listed' };
  const isWhole = hosts.every(({ index }) => said.includes(index)) && said.length === hosts.length;
  if (!isWhole) {
    const words = hosts.map(
      ({ index, internalIp }, place) => `host ${index} (${internalIp}) says ${said[place] ?? 'nothing'}`,
    );
    return { kind: 'contradictory', message: `its hosts are not the workers of one slice: ${words.join(', ')}` };
  }
  const renumbered = hosts.map((host, place): SliceHost => ({ ...host, index: said[place] as number }));
  return { kind: 'renumbered', hosts: renumbered.toSorted((one, other) => one.index - other.index) };
}
