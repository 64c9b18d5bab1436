/**
 * Which host key each TPU VM showed first. Per node id, since addresses are recycled to other VMs (failures.md 29).
 * A later source of expected keys (guest attributes) answers `get` before the first connection and needs no other change.
 */
export interface HostKeyPins {
  /** The pinned fingerprint (`SHA256:..`, as OpenSSH prints it), or undefined before the first use. */
  get(nodeId: string, index: number): string | undefined | Promise<string | undefined>;
  /** Called once a host with a new key has accepted our login. */
  pin(nodeId: string, index: number, fingerprint: string): void | Promise<void>;
}

/** Pins that live as long as this process. */
export function memoryHostKeyPins(): HostKeyPins {
  const pins = new Map<string, string>();
  return {
    get: (nodeId, index) => pins.get(`${nodeId}/${index}`),
    pin: (nodeId, index, fingerprint) => void pins.set(`${nodeId}/${index}`, fingerprint),
  };
}
