import type { SecretStore } from '../cloud/secrets/port.js';
import { isSecretOf, projectSecretPrefix } from '../domain/secret-reference.js';
import type { JobSettings } from '../contract/job.js';
import type { Installation } from './dependencies.js';
import { invalidJob } from './failures.js';

/**
 * The installation as one job may use it: in a pool in verified mode a job reads the secrets of its own project alone
 * (docs/secrets.md). Asked for at each start, since a job file may be changed while the job is open.
 */
export function ofJob(installation: Installation, job: Pick<JobSettings, 'project' | 'isVerified'>): Installation {
  const { secrets } = installation;
  if (secrets === undefined || job.isVerified !== true) return installation;
  return { ...installation, secrets: secretsOfProject(secrets, job.project) };
}

function secretsOfProject(secrets: SecretStore, project: string): SecretStore {
  return {
    place: secrets.place,
    read: async (name) => {
      if (isSecretOf(project, name)) return secrets.read(name);
      const own = `${projectSecretPrefix(project)}${name.replace(/^.*--/, '')}`;
      throw invalidJob(
        `secrets: secret ${name} is not one of project ${project}, whose secrets are named ${projectSecretPrefix(project)}NAME\n` +
          `  put it for this project: jobctl secret put ${own} --from-file FILE`,
      );
    },
    list: () => secrets.list(),
    put: (name, value) => secrets.put(name, value),
    remove: (name) => secrets.remove(name),
  };
}
