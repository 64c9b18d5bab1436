import { readLogin } from '../../../../cloud/temporal/login-files.js';
import type { Environment, StackHome } from '../../../terminal/home.js';
import type { Part } from '../part.js';
import { partEnvironment } from '../program.js';
import { DEV_NAMESPACE } from '../../../place/stack/context.js';
import { answersCalls } from '../temporal-server/start-dev.js';
import { OWN_PORTS, portsBefore, serverArguments, writeConfiguration } from './configuration.js';
import { makeCredentials } from './credentials.js';
import { freePorts, type KeySetServer, serveKeySet } from './key-set-server.js';
import { serverFiles, serverLoginFiles } from '../../../place/stack/server-files.js';

/** The configuration that marks a part as this server, and not as the dev server on the same database. */
export const GUARDED = 'asks who calls';

export interface GuardedPart {
  readonly part: Omit<Part, 'title' | 'claim' | 'stopGraceMs'>;
  /** Must be called when the part has started, or failed to start. */
  readonly settled: () => void;
}

/**
 * Temporal's real server on the stack's database, with TLS and its own authorizer. At each start it gets a new login, which only
 * the owner of the state folder can read (docs/adr/0076).
 * @param program returns the executable, called only if the server is started
 */
export function guardedPart(
  home: StackHome,
  port: number,
  program: () => Promise<string>,
  env: Environment,
): GuardedPart {
  const files = serverFiles(home);
  let keySet: KeySetServer | undefined;
  const command = async (): Promise<string> => {
    const path = await program();
    keySet = await serveKeySet(await makeCredentials(files, Date.now()));
    const ownPorts = await freePorts(OWN_PORTS, portsBefore(files));
    writeConfiguration(files, { databaseFile: home.databaseFile, port, ownPorts, keysUrl: keySet.url });
    return path;
  };
  return {
    part: {
      ...{ command, args: serverArguments(files), env: partEnvironment(env), cwd: home.root, configuration: GUARDED },
      isReady: () => answersGuarded(home, port),
      readyTimeoutMs: 60_000,
      isRestartedIfSilent: true,
    },
    settled: () => keySet?.close(),
  };
}

/** Tries once whether the server answers calls with the login in the state folder. */
export async function answersGuarded(home: StackHome, port: number, timeoutMs?: number): Promise<boolean> {
  try {
    return await answersCalls(`127.0.0.1:${port}`, DEV_NAMESPACE, timeoutMs, readLogin(serverLoginFiles(home)));
  } catch {
    // The server has no login yet.
    return false;
  }
}
