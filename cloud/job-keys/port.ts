/** A job, as its key is made for it: the id, and the first run id of its chain. */
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
  /** Id of the secret that it is made from. */
  readonly secretId: string;
}

/** Makes the keys of jobs from the installation's secrets. */
export interface JobKeys {
  /** Of the secrets, the one of new jobs first. */
  readonly secretIds: readonly string[];
  /** The key that a new job gets; undefined: this installation makes none. */
  newest(job: KeyedJob): JobKey | undefined;
  /**
   * The key of a job that runs, by whichever secret it was made; undefined: by none of these.
   * @param publicKey the OpenSSH line that its hosts were made with (`JobSettings.publicKey`)
   */
  find(job: KeyedJob, publicKey: string): JobKey | undefined;
}
