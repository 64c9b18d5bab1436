import { InvalidArgumentError } from 'commander';

export interface ForwardedPorts {
  readonly local: number;
  readonly remote: number;
}

/** `8888`, the same port on both sides, or `LOCAL:REMOTE`. @throws InvalidArgumentError */
export function parseForwardedPorts(text: string): ForwardedPorts {
  const [, local, remote] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const ports = { local: Number(local), remote: Number(remote ?? local) };
  const isGood = Object.values(ports).every((port) => port >= 1 && port <= 65_535);
  if (local === undefined || !isGood)
    throw new InvalidArgumentError('A port from 1 to 65535, or two of them, LOCAL:REMOTE.');
  return ports;
}
