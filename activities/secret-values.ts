import { setTimeout as sleep } from 'node:timers/promises';
import { SecretsUnavailable, type SecretStore } from '../cloud/secrets/port.js';
import type { JobSpec } from '../domain/job-spec.js';
import {
  SECRET_NAME,
  SECRET_NAME_RULE,
  isOfProject,
  isSecretOf,
  OWNER_RULE,
  projectSecretPrefix,
} from '../domain/secrets.js';
import { isSameProject, NO_PROJECT } from '../quota/quota-config.js';
import type { JobSettings } from '../contract/job.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

/**
 * The value of one secret, as it was put.
 * @param field the key of the job file that names it, for messages, which never hold the value
 * @throws InvalidJob if there is no such secret or no store; SecretsRefused, SecretsUnavailable
 */
export async function secretValue({ secrets }: Installation, name: string, field: string): Promise<string> {
  if (!SECRET_NAME.test(name)) throw invalidJob(`${field}: is no name of a secret\n  ${SECRET_NAME_RULE}`);
  if (secrets === undefined) {
    throw invalidJob(
      `${field}: wants secret ${name}, and this installation has no secret store\n  an operator names one: secretStore in the worker's configuration (docs/secrets.md)`,
    );
  }
  const value = await readPatiently(secrets, name);
  if (value !== undefined) return value;
  throw invalidJob(
    `${field}: there is no secret ${name} in the ${secrets.place}\n  put it: jobctl secret put ${name} --from-file FILE`,
  );
}

/**
 * The variables of the job's `secrets`, read now. A command gets them at its start, by a file that is gone before it runs.
 * Newlines at a value's end are left out, as `$(cat FILE)` does: files end with one, tokens do not.
 */
export async function secretVariables(
  installation: Installation,
  { secrets = {} }: Pick<JobSpec, 'secrets'>,
): Promise<Readonly<Record<string, string>>> {
  const read = async ([variable, name]: readonly [string, string]): Promise<readonly [string, string]> => {
    const value = await secretValue(installation, name, `secrets.${variable}`);
    if (value.includes('\0'))
      throw invalidJob(`secrets.${variable}: secret ${name} holds a NUL byte, which no variable can`);
    return [variable, value.replace(/(?<!\n)\n+$/, '')];
  };
  return Object.fromEntries(await Promise.all(Object.entries(secrets).map(read)));
}

/**
 * Time for which an outage of the secret store is waited for: it must not end a job. It is longer than a heartbeat's timeout,
 * so that an attempt whose worker waits here is claimed again rather than failed.
 */
const OUTAGE_MS = 90_000;
const LONGEST_PAUSE_MS = 10_000;

async function readPatiently(secrets: SecretStore, name: string): Promise<string | undefined> {
  const giveUpAt = Date.now() + OUTAGE_MS;
  for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await secrets.read(name);
    } catch (error) {
      if (!(error instanceof SecretsUnavailable) || Date.now() + pauseMs > giveUpAt) throw error;
      await sleep(pauseMs);
    }
  }
}

/**
 * The installation as one job may use it. On a worker that verifies, secrets belong to projects (docs/secrets.md). A verified job
 * reads only those of its own project. An unverified job, such as one in a trusted pool, reads none of any project. Checked at
 * each start, since a job file may be changed while the job is open.
 */
export function ofJob(installation: Installation, job: Pick<JobSettings, 'project' | 'isVerified'>): Installation {
  const { secrets, trust } = installation;
  if (secrets === undefined) return installation;
  if (job.isVerified === true) return { ...installation, secrets: only(secrets, (name) => notOf(job.project, name)) };
  return trust.hasVerifiedPools ? { ...installation, secrets: only(secrets, ofSomebody) } : installation;
}

/** @param refusal says why the job may not read a secret; undefined: it may */
function only(secrets: SecretStore, refusal: (name: string) => string | undefined): SecretStore {
  return {
    place: secrets.place,
    read: async (name) => {
      const why = refusal(name);
      if (why === undefined) return secrets.read(name);
      throw invalidJob(`secrets: ${why}`);
    },
    list: () => secrets.list(),
    put: (name, value) => secrets.put(name, value),
    remove: (name) => secrets.remove(name),
  };
}

function notOf(project: string, name: string): string | undefined {
  // Any user may submit without a project, whatever a quota file calls one.
  if (isSameProject(project, NO_PROJECT))
    return `secret ${name} is not for a job without a project\n  name the project that it is of (docs/secrets.md)`;
  const prefix = projectSecretPrefix(project);
  if (prefix === undefined)
    return `secret ${name} cannot be one of project ${project}, which owns none: its name is not ${OWNER_RULE}\n  an operator gives the project another name (docs/secrets.md)`;
  if (isSecretOf(project, name)) return undefined;
  return (
    `secret ${name} is not one of project ${project}, whose secrets are named ${prefix}NAME\n` +
    `  put it for this project: jobctl secret put ${prefix}${name.replace(/^.*--/, '')} --from-file FILE`
  );
}

function ofSomebody(name: string): string | undefined {
  if (!isOfProject(name)) return undefined;
  return (
    `secret ${name} is one of a project, and nobody has verified whose job this is\n` +
    '  submit it through the server of this installation, in a pool in verified mode (docs/access.md)'
  );
}
