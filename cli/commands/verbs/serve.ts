import { generateKeyPairSync } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Config from '../../../server/config.js';
import type * as RunServer from '../../../server/run-server.js';
import { bringPackages, hasAllPackages, ownFolder, placeOf, serverModuleFile } from '../../place/packages.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { printErr, printOut } from '../../terminal/print.js';
import { isFull, writeErrorWords, writeNew } from '../../terminal/file-on-disk.js';

export interface ServeFlags {
  readonly config?: string;
}

/** Runs until a signal stops it. A second signal ends it at once. */
export async function serve(flags: ServeFlags): Promise<number> {
  const { config: file } = flags;
  if (file === undefined)
    throw new CliError(ExitCode.Usage, 'no configuration is named', 'name it: --config serve.json (docs/serve.md)');
  await bringPackages(['@jobctl/worker'], { onProgress: (line) => printErr(`${line}\n`) });
  const elsewhere = jobctlOfTheServer();
  if (elsewhere !== undefined) return elsewhere(flags);
  const { loadServerConfig } = await load<typeof Config>('config');
  const { startServer } = await load<typeof RunServer>('run-server');
  const server = await startServer(loadServerConfig(file));
  await new Promise<void>((resolve) => {
    let isAsked = false;
    for (const name of ['SIGTERM', 'SIGINT'] as const)
      process.on(name, () => {
        if (isAsked) process.exit(1);
        isAsked = true;
        resolve();
      });
    printOut(`${server.url}\n`);
  });
  await server.close();
  return 0;
}

const load = async <Module>(module: string): Promise<Module> =>
  (await import(pathToFileURL(serverModuleFile(module)).href)) as Module;

/** A server in the cache has a separate jobctl next to it, whose modules it imports. Returns this verb of that jobctl. */
function jobctlOfTheServer(): ((flags: ServeFlags) => Promise<number>) | undefined {
  if (hasAllPackages) return undefined;
  const { jobctl } = placeOf('@jobctl/worker');
  if (jobctl === ownFolder()) return undefined;
  const file = pathToFileURL(join(jobctl, 'dist/cli/commands/verbs/serve.js')).href;
  return async (flags) => ((await import(file)) as { serve: typeof serve }).serve(flags);
}

export interface NewKeyFlags {
  readonly file: string;
}

/** Creates the key pair with which a server signs: FILE (0600), and FILE.pub for workers. @throws CliError if FILE exists */
export function newKey({ file }: NewKeyFlags): number {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  write(file, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 0o600);
  try {
    write(`${file}.pub`, publicKey.export({ type: 'spki', format: 'pem' }).toString(), 0o644);
  } catch (error) {
    rmSync(file);
    throw error;
  }
  printOut(
    `${file}: the private key, for signingKey.key of the server\n${file}.pub: its public half, for verified.serverKeys of each worker\n`,
  );
  return ExitCode.Done;
}

function write(file: string, text: string, mode: number): void {
  try {
    writeNew(file, text, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CliError(
      isFull(error) ? ExitCode.Failed : ExitCode.Usage,
      `${file} cannot be made: ${writeErrorWords(error, file, text.length)}`,
      ...(code === 'EEXIST' ? ['a key in use is not replaced: name another file'] : []),
    );
  }
}
