import { createHmac, type KeyObject } from 'node:crypto';
import { sha256Of, signText } from '../cloud/trust/submission-signature.js';
import {
  type AuthorizationStatement,
  type JobAuthorization,
  signedText,
  submittedText,
} from '../contract/authorization.js';
import type { JobInput } from '../contract/job.js';

/** Signs the workflows that this server starts (docs/adr/0080). */
export class SubmissionSigner {
  readonly #id: string;
  readonly #key: KeyObject;

  constructor(id: string, key: KeyObject) {
    this.#id = id;
    this.#key = key;
  }

  /**
   * A digest of a text under the signing key. All replicas compute the same one, and nobody without the key can compute it. The
   * first line separates it from all other uses of the key.
   */
  secretDigest(text: string): Buffer {
    const secret = createHmac('sha256', this.#key.export({ type: 'pkcs8', format: 'der' }));
    return secret.update(`jobctl secret digest v1\n${text}`).digest();
  }

  /** @param of the job's id and its owner; @param input of its workflow */
  sign(
    of: Pick<JobAuthorization, 'job' | 'pool' | 'project' | 'user' | 'service'>,
    input: JobInput,
    at: number,
  ): JobAuthorization {
    const statement: AuthorizationStatement = {
      v: 1,
      ...of,
      sha256: sha256Of(submittedText(input)),
      at,
      key: this.#id,
    };
    return { ...statement, signature: signText(signedText(statement), this.#key) };
  }
}
