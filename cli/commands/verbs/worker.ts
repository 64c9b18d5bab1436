import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Config from '../../../worker/config.js';
import type * as RunWorker from '../../../worker/run-worker.js';
import type { ContextFlags } from '../../place/context.js';
import { bringPackages, hasAllPackages, moduleFile, ownFolder, placeOf } from '../../place/packages.js';
import { printErr } from '../../terminal/print.js';

export interface WorkerFlags extends ContextFlags {
  readonly config?: string;
  readonly tpuEndpoint?: string;
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
  readonly quotaFile?: string;
  readonly poolFile?: string;
  readonly sshPrivateKeyFile?: string;
  readonly sshPublicKeyFile?: string;
  readonly sshUser?: string;
  readonly sshPort?: string;
  readonly healthPort?: string;
  readonly metricsPort?: string;
  readonly listenHost?: string;
  readonly logLevel?: string;
}

/** Runs until a signal stops it. The first signal hands the worker's jobs over; a second one ends the worker at once. */
export async function worker(flags: WorkerFlags): Promise<number> {
  await bringPackages(['@jobctl/worker'], { onProgress: (line) => printErr(`${line}\n`) });
  const elsewhere = jobctlOfTheWorker();
  if (elsewhere !== undefined) return elsewhere(flags);
  const { loadWorkerConfig } = await load<typeof Config>('config');
  const { config: file } = flags;
  const config = loadWorkerConfig({
    ...(file === undefined ? {} : { file }),
    environment: process.env,
    flags: configFlags(flags),
  });
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(1);
    stop.abort();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  const { runWorker } = await load<typeof RunWorker>('run-worker');
  await runWorker(config, stop.signal);
  return 0;
}

const load = async <Module>(module: string): Promise<Module> =>
  (await import(pathToFileURL(moduleFile('@jobctl/worker', module)).href)) as Module;

/** A worker in the cache has a separate jobctl next to it, whose modules it imports. Returns this verb of that jobctl. */
function jobctlOfTheWorker(): ((flags: WorkerFlags) => Promise<number>) | undefined {
  if (hasAllPackages) return undefined;
  const { jobctl } = placeOf('@jobctl/worker');
  if (jobctl === ownFolder()) return undefined;
  const file = pathToFileURL(join(jobctl, 'dist/cli/commands/verbs/worker.js')).href;
  return async (flags) => ((await import(file)) as { worker: typeof worker }).worker(flags);
}

/** Flags keyed by the paths that worker/config.ts uses. */
function configFlags(flags: WorkerFlags): Record<string, string | undefined> {
  return {
    'temporal.address': flags.temporalAddress,
    'temporal.namespace': flags.namespace,
    taskQueue: flags.taskQueue,
    'store.bucket': flags.bucket,
    'store.endpoint': flags.storeEndpoint,
    'cloud.tpuEndpoint': flags.tpuEndpoint,
    'kubernetes.kubeconfig': flags.kubeconfig,
    'kubernetes.context': flags.kubeContext,
    googleProject: flags.googleProject,
    quotaFile: flags.quotaFile,
    poolFile: flags.poolFile,
    'ssh.privateKeyFile': flags.sshPrivateKeyFile,
    'ssh.publicKeyFile': flags.sshPublicKeyFile,
    'ssh.user': flags.sshUser,
    'ssh.port': flags.sshPort,
    healthPort: flags.healthPort,
    metricsPort: flags.metricsPort,
    listenHost: flags.listenHost,
    logLevel: flags.logLevel,
    secretStore: flags.secretStore,
    'codec.key': flags.codecKey,
    'codec.decodeKeys': flags.codecDecodeKeys,
  };
}
