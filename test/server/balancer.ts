import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BackgroundProcess } from '../long/postgres/process.js';
import { freePort } from '../temporal-server.js';
import { until } from '../until.js';

const PROGRAM = '/usr/sbin/haproxy';

/** HAProxy as an operator puts it before replicas of `jobctl serve`: round robin, by /readyz, on one address. */
export class Balancer {
  readonly url: string;
  readonly #process: BackgroundProcess;

  private constructor(url: string, process: BackgroundProcess) {
    this.url = url;
    this.#process = process;
  }

  static async start(ports: readonly number[], folder: string): Promise<Balancer> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: apt-get install haproxy`);
    const port = await freePort();
    const file = join(folder, 'haproxy.cfg');
    writeFileSync(file, configuration(port, ports));
    const started = BackgroundProcess.start(PROGRAM, ['-db', '-f', file], { logFile: join(folder, 'haproxy.log') });
    const balancer = new Balancer(`http://127.0.0.1:${port}`, started);
    await until('HAProxy passes calls on', async () => {
      if (!started.isRunning) throw new Error(started.tail());
      return (await fetch(`${balancer.url}/readyz`)).ok;
    });
    return balancer;
  }

  stop(): Promise<void> {
    return this.#process.stop('SIGTERM', 5_000);
  }
}

/** A call that no server has taken yet goes to another one; one that a server died over is the client's to repeat. */
const configuration = (port: number, ports: readonly number[]): string => `defaults
  mode http
  timeout connect 2s
  timeout client 120s
  timeout server 120s
  option redispatch 1
  retries 3
frontend jobctl
  bind 127.0.0.1:${port}
  default_backend servers
backend servers
  balance roundrobin
  option httpchk GET /readyz
  default-server inter 200ms fall 1 rise 1
${ports.map((each, index) => `  server s${index} 127.0.0.1:${each} check`).join('\n')}
`;
