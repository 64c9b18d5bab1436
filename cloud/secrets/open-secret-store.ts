import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { constants } from 'node:fs';
import { chmod, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { makeFolder } from '../folders.js';
import { modeForOthers, SECRET_NAME } from '../../domain/secrets.js';
import { type SecretStore, SecretsRefused, type StoredSecret } from './port.js';
import { secretFingerprint, SecretManagerStore } from './secret-manager-store.js';

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

/**
 * Secrets as files of one user, for a worker on the same computer (`jobctl dev up`): `NAME`, mode 600, in a folder of mode 700.
 * It protects from other users of the computer, not from its administrator or its backups.
 */
export class FolderSecretStore implements SecretStore {
  readonly place: string;
  readonly #folder: string;

  /** @param folder absolute path; created by the first `put` */
  constructor(folder: string) {
    this.#folder = folder;
    this.place = `folder ${folder}`;
  }

  read(name: string): Promise<string | undefined> {
    return this.#orRefused(async () => {
      await refuseOpen(this.#path(name));
      return readFile(this.#path(name), 'utf8');
    }, undefined);
  }

  list(): Promise<readonly StoredSecret[]> {
    return this.#orRefused(async () => {
      const names = (await readdir(this.#folder)).filter((name) => SECRET_NAME.test(name)).toSorted();
      const found = await Promise.all(names.map((name) => this.#describe(name)));
      return found.filter((each) => each !== undefined);
    }, []);
  }

  async put(name: string, value: string): Promise<StoredSecret & { readonly isChanged: boolean }> {
    const before = await this.read(name);
    if (before !== value) await this.#orRefused(() => this.#write(name, value), undefined);
    const now = await this.#describe(name);
    if (now === undefined) throw new SecretsRefused(`${this.place}: secret ${name} was removed while it was put`);
    return { ...now, isChanged: before !== value };
  }

  remove(name: string): Promise<boolean> {
    return this.#orRefused(() => rm(this.#path(name)).then(() => true), false);
  }

  /** Readers see the old value or the new one. The draft is created with mode 600, so no other user can open it. */
  async #write(name: string, value: string): Promise<void> {
    await makeFolder(this.#folder, 0o700);
    await chmod(this.#folder, 0o700);
    const draft = join(this.#folder, `.${name}.${randomBytes(4).toString('hex')}`);
    try {
      const file = await open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
      try {
        await file.writeFile(value);
      } finally {
        await file.close();
      }
      await rename(draft, this.#path(name));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async #describe(name: string): Promise<StoredSecret | undefined> {
    const value = await this.read(name);
    if (value === undefined) return undefined;
    const { mtimeMs } = await stat(this.#path(name));
    return { name, fingerprint: await secretFingerprint(name, value), putAt: Math.trunc(mtimeMs) };
  }

  #path(name: string): string {
    if (!SECRET_NAME.test(name)) throw new RangeError(`secret store: a name that is none must not become a path`);
    return join(this.#folder, name);
  }

  async #orRefused<T>(work: () => Promise<T>, ifAbsent: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return ifAbsent;
      if (code === undefined) throw error;
      throw new SecretsRefused(`${this.place}: ${message}`, { cause: error });
    }
  }
}

/** Like OpenSSH with its keys: a file that others can read is not a secret any more. */
async function refuseOpen(path: string): Promise<void> {
  const mode = modeForOthers((await stat(path)).mode);
  if (mode === undefined) return;
  throw new SecretsRefused(
    `${path}: others can reach this secret (mode ${mode})\n  chmod 600 ${path}, and put a new value if somebody may have read it`,
  );
}
