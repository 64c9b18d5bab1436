import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FolderSecretStore } from './folder-store.js';
import { type SecretStore, SecretsRefused } from './port.js';
import { SecretManagerStore } from './secret-manager-store.js';

const PROJECT = /^projects\/([a-z][a-z0-9.:-]{4,61}[a-z0-9])$/;
const FORMS = 'wanted file:///FOLDER, or projects/P for the Secret Manager of that Google Cloud project';

/**
 * Opens the store that a reference names.
 * @param endpoint replaces Google's address of the Secret Manager
 * @throws SecretsRefused if the text is not a reference
 */
export function openSecretStore(reference: string, endpoint?: string): SecretStore {
  const [, project] = PROJECT.exec(reference) ?? [];
  if (project !== undefined) return new SecretManagerStore(project, endpoint);
  const folder = reference.startsWith('file:') ? folderOf(reference) : undefined;
  if (folder !== undefined) return new FolderSecretStore(folder);
  throw new SecretsRefused(`secret store: '${reference}' is no place of secrets: ${FORMS}`);
}

function folderOf(reference: string): string | undefined {
  try {
    const folder = fileURLToPath(reference);
    return isAbsolute(folder) ? folder : undefined;
  } catch {
    return undefined;
  }
}
