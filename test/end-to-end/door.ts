import { type AddressInfo, createServer } from 'node:net';

/** Something that a command on a rehearsed host can wait for: it sees a port of this computer. */
export interface Door {
  /** Of bash: goes on once the door is closed. */
  readonly whileOpen: string;
  close(): void;
}

export async function openDoor(): Promise<Door> {
  const server = createServer((caller) => caller.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    whileOpen: `while (exec 3<>/dev/tcp/127.0.0.1/${port}) 2> /dev/null; do sleep 0.2; done`,
    close: () => void server.close(),
  };
}
