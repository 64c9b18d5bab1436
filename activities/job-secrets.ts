import type { SecretStore } from '../cloud/secrets/port.js';
import { isOfProject, isSecretOf, OWNER_RULE, projectSecretPrefix } from '../domain/secret-reference.js';
import { isSameProject, NO_PROJECT } from '../quota/quota-config.js';
import type { JobSettings } from '../contract/job.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

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
