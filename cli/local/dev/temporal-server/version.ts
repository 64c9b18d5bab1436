import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isOlderVersion } from '../../../../domain/temporal-version.js';

/** Versions from `temporal --version`. */
export interface TemporalVersion {
  /** Version of the CLI; `0.0.0-DEV` if `go install` built it. */
  readonly cli: string;
  /** Version of the server inside, which decides the features; undefined for a very old CLI. */
  readonly server: string | undefined;
}

/** The oldest server that we start ourselves, that of CLI 1.1: the first with the user metadata that the Web UI shows. */
const OLDEST_OWN_SERVER = '1.25.0';
const RUN_TIMEOUT_MS = 5_000;

/**
 * Runs `path --version`.
 * @throws Error with one line that gives the reason why this executable cannot be used
 */
export async function checkTemporalCli(path: string): Promise<TemporalVersion> {
  const version = parseTemporalVersion(await versionOutput(path));
  if (version === undefined) throw new Error(`${path} --version does not print a version of the Temporal CLI`);
  const { server } = version;
  if (server === undefined || isOlderVersion(server, OLDEST_OWN_SERVER)) {
    const has = server === undefined ? 'has no server inside' : `has server ${server}`;
    throw new Error(
      `${path} is version ${version.cli} and ${has}; too old: server ${OLDEST_OWN_SERVER} (CLI 1.1) or later is needed`,
    );
  }
  return version;
}

/** Reads `temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)`. */
export function parseTemporalVersion(output: string): TemporalVersion | undefined {
  const cli = /temporal version (\S+)/.exec(output)?.[1];
  return cli === undefined ? undefined : { cli, server: /\(Server (\d+\.\d+\.\d+)/.exec(output)?.[1] };
}

async function versionOutput(path: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], {
      timeout: RUN_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    return stdout;
  } catch (err) {
    const { code, killed, stderr } = err as { code?: unknown; killed?: boolean; stderr?: string };
    if (killed === true)
      throw new Error(`${path} --version gave no answer in ${RUN_TIMEOUT_MS / 1000} s`, { cause: err });
    if (code === 'ENOENT') throw new Error(`${path} does not exist`, { cause: err });
    if (code === 'EACCES') throw new Error(`${path} is not executable`, { cause: err });
    const said = stderr?.trim().split('\n')[0];
    throw new Error(`${path} --version failed (${said === undefined || said === '' ? `exit ${String(code)}` : said})`, {
      cause: err,
    });
  }
}
