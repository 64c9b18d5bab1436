import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Connection } from '@temporalio/client';
import { ensureSearchAttributes } from '../../../client/namespace.js';
import { type LoginFiles, readLogin } from '../../../cloud/temporal/login-files.js';
import { jobctl } from '../../cli/command-line.js';
import { freePort, type TestServer } from '../../temporal-server.js';
import { until } from '../../until.js';
import { BackgroundProcess } from './process.js';
import { type PostgresTemporal, startPostgresTemporal } from './temporal-on-postgres.js';

const SERVE_KEY_SET = fileURLToPath(new URL('../../../deploy/serve-key-set.mjs', import.meta.url));
export type Holder = 'admin' | 'server' | 'worker' | 'people';

/** PostgreSQL, and the real Temporal server on it with its own authorizer, by what `jobctl setup api-keys` makes. */
export class GuardedTemporal {
  readonly folder: string;
  readonly temporal: PostgresTemporal;
  readonly server: TestServer;
  readonly #keySet: BackgroundProcess;

  private constructor(folder: string, temporal: PostgresTemporal, server: TestServer, keySet: BackgroundProcess) {
    this.folder = folder;
    this.temporal = temporal;
    this.server = server;
    this.#keySet = keySet;
  }

  static async start(directory: string): Promise<GuardedTemporal> {
    mkdirSync(directory, { recursive: true });
    const folder = join(directory, 'api-keys');
    await makeApiKeys(folder);
    const port = await freePort();
    const args = [SERVE_KEY_SET, join(folder, 'public/key-set.json'), String(port)];
    const keySet = BackgroundProcess.start(process.execPath, args, {
      logFile: join(directory, 'key-set.log'),
      env: { ...process.env, HOST: '127.0.0.1' },
    });
    const keySetUri = `http://127.0.0.1:${port}/key-set.json`;
    await until('the key set is served', async () => (await fetch(keySetUri)).ok);
    const admin = readLogin(loginOf(folder, 'admin'));
    const temporal = await startPostgresTemporal({ directory, guard: { keySetUri, admin } });
    const { address, namespace } = temporal;
    const connection = await Connection.connect({ address, ...admin });
    await ensureSearchAttributes(connection, namespace);
    const server = { address, namespace, connection, uiUrl: '', pid: undefined, stop: () => connection.close() };
    return new GuardedTemporal(folder, temporal, server, keySet);
  }

  login = (holder: Holder): LoginFiles => loginOf(this.folder, holder);

  /** Without a key as `nobody`. */
  connect(holder: Holder | 'nobody'): Promise<Connection> {
    const login = holder === 'nobody' ? { tls: false } : readLogin(this.login(holder));
    return Connection.connect({ address: this.server.address, ...login });
  }

  async stop(): Promise<void> {
    await this.server.stop();
    await this.temporal.stop();
    await this.#keySet.stop('SIGTERM', 5_000);
  }
}

const loginOf = (folder: string, holder: Holder): LoginFiles => ({
  apiKeyFile: join(folder, holder, 'api-key'),
  tls: false,
});

/** As an operator does it. */
export async function makeApiKeys(folder: string, ...more: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await jobctl([
    'setup',
    'api-keys',
    '--folder',
    folder,
    '--namespace',
    'default',
    ...more,
  ]);
  assert.equal(exitCode, 0, stderr);
}
