import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { clientEnvironment } from './client-environment.js';
import type { RehearsalEndpoints } from './index.js';

/** The file exists while the rehearsal serves, so that `cloud-tpu-rehearsal env` finds the rehearsal from another shell. */
const fileIn = (stateDir: string): string => join(resolve(stateDir), 'endpoints.json');

export function writeEndpoints(stateDir: string, endpoints: RehearsalEndpoints): void {
  writeFileSync(fileIn(stateDir), JSON.stringify(endpoints), { mode: 0o600 });
}

export function removeEndpoints(stateDir: string): void {
  rmSync(fileIn(stateDir), { force: true });
}

/** @throws Error if no rehearsal serves from this state folder */
function readEndpoints(stateDir: string): RehearsalEndpoints {
  try {
    return JSON.parse(readFileSync(fileIn(stateDir), 'utf8')) as RehearsalEndpoints;
  } catch (error) {
    const why = `no rehearsal serves from the state folder ${resolve(stateDir)}`;
    throw new Error(`${why}; start one: npx cloud-tpu-rehearsal --state-dir ${shellWord(stateDir)}`, { cause: error });
  }
}

/**
 * Lines for `eval` in a shell that point gcloud and Google's libraries at the rehearsal of this state folder. gcloud gets a
 * configuration folder in the state folder, so that it sends no token of the user's own account.
 * @throws Error if no rehearsal serves from this folder
 */
export function shellLines(stateDir: string, place: { readonly project: string; readonly zone: string }): string {
  const endpoints = readEndpoints(stateDir);
  const variables = clientEnvironment(endpoints, { ...place, gcloudConfig: join(resolve(stateDir), 'gcloud') });
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${shellWord(value)}`);
  const { sshPort, headerFile } = endpoints;
  lines.push(`# curl: -H @${shellWord(headerFile)}`);
  if (sshPort !== 22) lines.push(`# TPU VMs listen on port ${sshPort}: gcloud .. ssh --ssh-flag='-p ${sshPort}'`);
  return lines.join('\n');
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
