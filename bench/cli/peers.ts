import { execFile } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A command line that people use instead of jobctl's. */
export interface Peer {
  readonly title: string;
  readonly command: readonly string[];
  /** Absent: it was installed before. */
  readonly installed?: { readonly seconds: number; readonly megabytes: number };
}

const FROM_PYPI: Readonly<Record<string, string>> = { skypilot: 'sky', dstack: 'dstack' };

/** Google's gcloud, if it is on the PATH, and the programs of FROM_PYPI, each in a separate environment below `folder`. */
export async function peersIn(folder: string, onProgress: (line: string) => void): Promise<readonly Peer[]> {
  const peers: Peer[] = [];
  const gcloud = await run('gcloud', ['--version']).catch(() => undefined);
  if (gcloud === undefined) onProgress('gcloud is not on the PATH: left out');
  else peers.push({ title: 'gcloud --version', command: ['gcloud', '--version'] });
  for (const [name, program] of Object.entries(FROM_PYPI)) {
    onProgress(`pip install ${name}`);
    try {
      const { environment, seconds } = await pipInstalled(name, folder);
      const installed = { seconds, megabytes: await megabytesIn(environment) };
      peers.push({ title: `${program} --help`, command: [join(environment, 'bin', program), '--help'], installed });
    } catch (error) {
      onProgress(`${name} is left out: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  return peers;
}

/** Installs a package of PyPI into an environment of its own below `folder`. @returns the environment, and how long pip took */
export async function pipInstalled(
  name: string,
  folder: string,
): Promise<{ readonly environment: string; readonly seconds: number }> {
  const environment = join(folder, name);
  await run('python3', ['-m', 'venv', environment]);
  const began = performance.now();
  const pip = ['install', '--quiet', '--disable-pip-version-check', name];
  await run(join(environment, 'bin/pip'), pip, { maxBuffer: 1 << 26 });
  return { environment, seconds: (performance.now() - began) / 1_000 };
}

/** Disk usage of a folder. */
export async function megabytesIn(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder]);
  return Number(stdout.split('\t')[0]) / 1_024;
}
