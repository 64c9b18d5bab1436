import { createServer } from 'node:net';

const CANDIDATES = [22, ...Array.from({ length: 100 }, (_, index) => 2222 + index)];

/** Returns 22 if it is free and this user may listen on it, else the first free port from 2222. @throws Error if none is free */
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
