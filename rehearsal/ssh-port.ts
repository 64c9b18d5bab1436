import { createServer } from 'node:net';

const CANDIDATES = [22, ...Array.from({ length: 100 }, (_, index) => 2222 + index)];

/** 22 where this user may listen on it and nobody does, else the first free one from 2222. */
export async function pickSshPort(subnetOctet: number): Promise<number> {
  for (const port of CANDIDATES) {
    if (await canListen(`127.${subnetOctet}.0.1`, port)) return port;
  }
  throw new Error(
    `no SSH port is free on 127.${subnetOctet}.0.1: tried 22 and 2222 to 2321; choose one with --ssh-port`,
  );
}

async function canListen(address: string, port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, address, () => probe.close(() => resolve(true)));
  });
}
