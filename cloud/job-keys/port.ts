/** The facts of a job that its key is derived from: its id and the first run id of its chain. */
export interface KeyedJob {
  readonly id: string;
  readonly run: string;
}

/** The key pair that opens the hosts of one job and of no other (docs/adr/0077). */
export interface JobKey {
  /** OpenSSH private key text. Never logged, never in a history, never on a host. */
  readonly privateKey: string;
  /** OpenSSH line, without a comment. */
  readonly publicKey: string;
  /** The id of the secret that the key was derived from. */
  readonly secretId: string;
}

/** Makes the keys of jobs from the installation's secrets. */
export interface JobKeys {
  /** The id of the secret of new jobs comes first. */
  readonly secretIds: readonly string[];
  /** Returns the key for a new job, or undefined if this installation makes no job keys. */
  newest(job: KeyedJob): JobKey | undefined;
  /**
   * Returns the key of an open job, whichever of the secrets it was derived from, or undefined if none of them fits.
   * @param publicKey the OpenSSH line that its hosts were created with (`JobSettings.publicKey`)
   */
  find(job: KeyedJob, publicKey: string): JobKey | undefined;
}
