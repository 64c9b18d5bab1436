import { createServer, type Server } from 'node:http';
import { Client } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { messageOf } from '../domain/errors.js';
import { whoElseServes } from '../activities/workflow-lookup.js';
import type { PoolSource } from '../activities/pool-source.js';
import type { StorePort } from '../cloud/store/port.js';
import type { MachinesOf } from '../cloud/machines/port.js';
import { MACHINE_KINDS, machineKind } from '../domain/machines.js';
import { explainRefusal } from '../cloud/temporal/explain-refusal.js';
import { explainGaps, searchAttributeGaps, serverTooOld } from '../domain/temporal-server.js';
import { ownerObject } from '../domain/store-layout.js';
import type { WorkerChanges } from './change-switches.js';

/** Returns the things that a worker still lacks before it may take a job, each as a sentence with the remedy. */
export async function whatIsMissing(outside: {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly store: StorePort;
  readonly machinesOf: MachinesOf;
  readonly googleProject?: string;
  readonly changes: Pick<WorkerChanges, 'refusals'>;
  readonly pools: PoolSource;
  /** The pools whose files the worker's configuration names. */
  readonly poolNames: readonly string[];
}): Promise<string[]> {
  const { connection, namespace, taskQueue, store, machinesOf, changes, pools, poolNames } = outside;
  const temporal = new Client({ connection, namespace });
  const loaded = await Promise.all(poolNames.map(async (pool) => ({ pool, ...(await pools.load(pool)) })));
  const ofPools = loaded.flatMap(({ defaults }) => defaults?.googleProject ?? []);
  const googleProjects = new Set([...(outside.googleProject === undefined ? [] : [outside.googleProject]), ...ofPools]);
  const checks = [
    whatTemporalLacks(connection, namespace),
    check(`bucket ${store.bucket}`, async () => {
      await store.probe();
      if ((await store.stat(ownerObject)) !== undefined) return undefined;
      return `has no installation's owner id (${ownerObject}): run 'jobctl setup server'`;
    }),
    check('changes of workflow code', async () => {
      const refusals = await changes.refusals({ connection, namespace, taskQueue });
      return refusals.length === 0 ? undefined : refusals.join('; ');
    }),
    ...MACHINE_KINDS.flatMap((kind) => checkAccounts(kind, machinesOf, googleProjects)),
    ...poolNames.map((pool) =>
      // If Temporal does not answer, another check reports it.
      check(`pool ${pool}`, () => whoElseServes(temporal, pool, taskQueue).catch(() => undefined)),
    ),
  ];
  const wrong = loaded.flatMap(({ pool, problem }) => (problem === undefined ? [] : [`pool ${pool}: ${problem}`]));
  const found = [...(await Promise.all(checks)), ...wrong];
  return found.filter((sentence) => sentence !== undefined);
}

/** Lists resources of an unused owner: that needs the same rights as the janitor's listing. */
function checkAccounts(
  name: (typeof MACHINE_KINDS)[number],
  machinesOf: MachinesOf,
  googleProjects: ReadonlySet<string>,
): Promise<string | undefined>[] {
  const kind = machineKind(name);
  const accounts = new Set([...googleProjects].flatMap((googleProject) => kind.account({ googleProject }) ?? []));
  return [...accounts].map((account) =>
    check(kind.accountText(account), async () => {
      await machinesOf(name).listOwned(account, 'nobody', () => undefined);
      return undefined;
    }),
  );
}

async function check(what: string, look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    const missing = await look();
    return missing === undefined ? undefined : `${what}: ${missing}`;
  } catch (error) {
    return `${what}: ${messageOf(error)}`;
  }
}

async function whatTemporalLacks(connection: NativeConnection, namespace: string): Promise<string | undefined> {
  try {
    const { serverVersion } = await connection.workflowService.getSystemInfo({});
    const tooOld = serverTooOld(serverVersion ?? '');
    if (tooOld !== undefined) return tooOld;
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return explainGaps(searchAttributeGaps(customAttributes ?? {}), namespace);
  } catch (error) {
    const refusal = explainRefusal(error, namespace);
    if (refusal === undefined || refusal.kind === 'search-attributes') return `Temporal: ${String(error)}`;
    return `Temporal: ${refusal.why}; ${refusal.remedy}`;
  }
}

/** `GET /ready`: 200 while the worker polls and nothing is missing, else 503 with the reasons. `GET /live`: 200. */
export class HealthEndpoint {
  #reasons: readonly string[] = ['starting'];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(host: string, port: number): Promise<HealthEndpoint> {
    const server = createServer((request, response) => {
      const isReady = request.url === '/live' || endpoint.#reasons.length === 0;
      response.writeHead(isReady ? 200 : 503, { 'content-type': 'application/json' });
      response.end(`${JSON.stringify({ ready: endpoint.#reasons.length === 0, reasons: endpoint.#reasons })}\n`);
    });
    const endpoint = new HealthEndpoint(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          new Error(
            `health port ${host}:${port} cannot be listened on: ${error.code}; choose another with --health-port`,
          ),
        ),
      );
      server.listen(port, host, resolve);
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
