import type { Engine } from './engine.js';
import { listenersIn } from './processes.js';
import { ComposeStack, type Service } from './stack.js';

/** The worker of the rehearsal is in the network of the rehearsal. */
const PLACES = ['postgres', 'temporal', 'ui', 'rehearsal'] as const satisfies readonly Service[];

interface Target {
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

/** From each container: which open ports of the others, at which of their addresses, answer a connection. Names are sorted. */
export async function reachedFrom(stack: ComposeStack): Promise<Readonly<Record<string, readonly string[]>>> {
  const targets = [
    ...PLACES.flatMap((place) => targetsIn(stack, place)),
    { name: 'outside:80', ...ComposeStack.OUTSIDE },
  ];
  const rows = PLACES.map(async (place) => {
    const { Pid } = stack.inspect(place).State;
    const others = targets.filter(({ name }) => !name.startsWith(`${place}:`));
    const reached = await Promise.all(others.map((target) => answers(stack.engine, Pid, target)));
    const names = others.filter((_, at) => reached[at]).map(({ name }) => name);
    return [place, [...new Set(names)].sort()] as const;
  });
  return Object.fromEntries(await Promise.all(rows));
}

/** Every port that is open to others, at every address that the container has. */
function targetsIn(stack: ComposeStack, place: Service): readonly Target[] {
  const { State, NetworkSettings } = stack.inspect(place);
  const ports = listenersIn(stack.engine, State.Pid).filter(({ isLoopback }) => !isLoopback);
  return Object.values(NetworkSettings.Networks).flatMap(({ IPAddress: address }) =>
    ports.map(({ port }) => ({ name: `${place}:${port}`, address, port })),
  );
}

/** A firewall drops, and says nothing: 3 s without an answer are none. */
async function answers(engine: Engine, pid: number, { address, port }: Target): Promise<boolean> {
  try {
    await engine.insideNetworkOf(pid, 'timeout', '3', 'bash', '-c', `: </dev/tcp/${address}/${port}`);
    return true;
  } catch {
    return false;
  }
}
