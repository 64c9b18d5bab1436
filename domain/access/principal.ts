/** Who a verified token is of. */
export interface Subject {
  /** `user`: a person. `service`: a service account, by what its issuer says or the server's configuration. */
  readonly kind: 'user' | 'service';
  /** What jobs, quota files and lists call them, such as `alice@example.org`: `QUOTA_NAME`. */
  readonly id: string;
  /** As pool files call them: of one of several issuers, under its prefix. No two issuers give one name (server/identity). */
  readonly groups: readonly string[];
}

/** As a pool file names somebody: `user:alice@example.org`, `service:ci@p.iam.gserviceaccount.com` or `group:tpu-operators`. */
export const PRINCIPAL = /^(user|service|group):[\w.@+/-]{1,200}$/;
export const PRINCIPAL_RULE =
  'user:NAME, service:NAME or group:NAME; letters, digits and . _ - + @ / in the name, 200 at most';

/** Whether one of `principals` means this subject. Names are compared byte for byte. */
export function isOneOf(subject: Subject, principals: readonly string[]): boolean {
  const own = [`${subject.kind}:${subject.id}`, ...subject.groups.map((group) => `group:${group}`)];
  return principals.some((principal) => own.includes(principal));
}
