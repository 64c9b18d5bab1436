import { createServer, type Server } from 'node:http';
import type { NativeConnection } from '@temporalio/worker';
import type { StorePort } from '../cloud/store/port.js';
import type { TpuPort } from '../cloud/tpu/port.js';
import { JOB_SEARCH_ATTRIBUTES } from '../domain/search-attributes.js';
import { ownerObject } from '../domain/store-layout.js';

/** What a worker needs of its surroundings before it takes a job. Each answer is a sentence with the remedy. */
export async function whatIsMissing(outside: {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly store: StorePort;
  readonly tpu: TpuPort;
  readonly googleProject: string;
}): Promise<readonly string[]> {
  const { connection, namespace, store, tpu, googleProject } = outside;
  const checks = [
    check(`search attributes of namespace ${namespace}`, () => missingAttributes(connection, namespace)),
    check(`bucket ${store.bucket}`, async () =>
      (await store.stat(ownerObject))
        ? undefined
        : `has no installation's owner id (${ownerObject}): run 'jobctl dev up', or write one`,
    ),
    check(`Cloud TPU of project ${googleProject}`, async () => {
      await tpu.listOwned(googleProject, 'nobody');
      return undefined;
    }),
  ];
  return (await Promise.all(checks)).filter((sentence) => sentence !== undefined);
}

async function check(what: string, look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    const missing = await look();
    return missing === undefined ? undefined : `${what}: ${missing}`;
  } catch (error) {
    return `${what}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

async function missingAttributes(connection: NativeConnection, namespace: string): Promise<string | undefined> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = JOB_SEARCH_ATTRIBUTES.filter((name) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return undefined;
  return `${missing.join(', ')} missing: temporal operator search-attribute create --namespace ${namespace} ${missing.map((name) => `--name ${name} --type Keyword`).join(' ')}`;
}

/** `GET /ready`: 200 when the worker polls and nothing is missing, else 503 with the reasons. `GET /live`: 200. */
export class HealthEndpoint {
  #reasons: readonly string[] = ['starting'];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(port: number): Promise<HealthEndpoint> {
    const server = createServer((request, response) => {
      const isReady = request.url === '/live' || endpoint.#reasons.length === 0;
      response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ ready: endpoint.#reasons.length === 0, reasons: endpoint.#reasons })}\n`);
    });
    const endpoint = new HealthEndpoint(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          new Error(`health port ${port} cannot be listened on: ${error.code}; choose another with --health-port`),
        ),
      );
      server.listen(port, '127.0.0.1', resolve);
    });
    return endpoint;
  }

  set reasons(reasons: readonly string[]) {
    this.#reasons = reasons;
  }

  close(): void {
    this.#server.close();
  }
}
