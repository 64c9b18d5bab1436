import { createPublicKey, generateKeyPair, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Signer } from './signed-url.js';

const EMAIL = 'signer@rehearsal.iam.gserviceaccount.com';

/** A service account's key file in the console's form. */
interface KeyFile {
  readonly type: 'service_account';
  readonly client_email: string;
  readonly private_key: string;
  readonly [field: string]: string;
}

/**
 * The key whose signed URLs the store accepts. It is made on first use (100 ms of work that most rehearsals never need), and
 * kept: a URL stays valid over a restart.
 */
export class SigningKey {
  readonly #file: string;
  #key: Promise<KeyFile> | undefined;
  #signer: Signer | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** Key file for GOOGLE_APPLICATION_CREDENTIALS or `keyFilename`: it signs, it does not log in. */
  keyFile(): Promise<KeyFile> {
    return (this.#key ??= this.#readOrMake());
  }

  /** Undefined until the key is made. */
  signer(): Signer | undefined {
    if (this.#signer === undefined && existsSync(this.#file)) {
      const { client_email: email, private_key: key } = this.#read();
      this.#signer = { email, publicKey: createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString() };
    }
    return this.#signer;
  }

  async #readOrMake(): Promise<KeyFile> {
    if (existsSync(this.#file)) return this.#read();
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
    const key: KeyFile = {
      type: 'service_account',
      project_id: 'rehearsal',
      private_key_id: randomBytes(20).toString('hex'),
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      client_email: EMAIL,
      client_id: '100000000000000000000',
      token_uri: 'https://oauth2.googleapis.com/token',
    };
    writeFileSync(`${this.#file}.new`, JSON.stringify(key, undefined, 2), { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
    return key;
  }

  #read(): KeyFile {
    return JSON.parse(readFileSync(this.#file, 'utf8')) as KeyFile;
  }
}
