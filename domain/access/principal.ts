/** The subject that a verified token names. */
export interface Subject {
  /** `user`: a person. `service`: a service account, according to its issuer or to the server's configuration. */
  readonly kind: 'user' | 'service';
  /** Name in jobs, quota files and lists, such as `alice@example.org`: `QUOTA_NAME`. */
  readonly id: string;
  /** Names as in pool files, with a prefix per issuer if there are several. No two issuers share a name (server/identity). */
  readonly groups: readonly string[];
}

/** A principal in a pool file: `user:alice@example.org`, `service:ci@p.iam.gserviceaccount.com` or `group:tpu-operators`. */
export const PRINCIPAL = /^(user|service|group):[\w.@+/-]{1,200}$/;
export const PRINCIPAL_RULE =
  'user:NAME, service:NAME or group:NAME; letters, digits and . _ - + @ / in the name, 200 at most';

/** Returns whether one of `principals` names this subject. Names are compared byte for byte. */
export function isOneOf(subject: Subject, principals: readonly string[]): boolean {
  const own = [`${subject.kind}:${subject.id}`, ...subject.groups.map((group) => `group:${group}`)];
  return principals.some((principal) => own.includes(principal));
}
