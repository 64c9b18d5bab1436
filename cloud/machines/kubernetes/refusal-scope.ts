import type { RefusalScope } from '../../../domain/slice.js';

/** What a failed call said. */
export interface ApiFailure {
  /** Of HTTP; absent: there was no answer. */
  readonly status?: number;
  /** Kubernetes' word, such as `AlreadyExists`. Absent: the answer is not of an API server. */
  readonly reason?: string;
  readonly message: string;
}

/**
 * How far a refusal of Kubernetes' reaches (docs/adr/0042). First its texts, which say more than the code: 403 is what RBAC, a
 * ResourceQuota, admission and a namespace that is being deleted all say.
 */
export function refusalScope({ status, message }: ApiFailure): RefusalScope {
  return scopeOfText(message) ?? scopeOfStatus(status);
}

/** Texts of the API server, of admission, and of the Job controller's events (Kubernetes 1.34). */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: /exceeded quota|failed quota|insufficient quota/i, scope: 'zone' },
  { text: /because it is being terminated/i, scope: 'zone-lasting' },
  { text: /namespaces? "[^"]*" not found/i, scope: 'request' },
  { text: /service ?account "?[^"\s]*"? not found|no PriorityClass with name/i, scope: 'request' },
  { text: /(secret|configmap|persistentvolumeclaim) "[^"]*" not found/i, scope: 'request' },
  { text: /violates PodSecurity|admission webhook "[^"]*" denied/i, scope: 'request' },
  // KubeRay's events.
  { text: /The RayCluster (spec|metadata|status) is invalid|: Pod "[^"]*" is invalid/, scope: 'request' },
  { text: /User "[^"]*" cannot /i, scope: 'permission' },
];

export const scopeOfText = (message: string): RefusalScope | undefined =>
  TEXTS.find(({ text }) => text.test(message))?.scope;

function scopeOfStatus(status: number | undefined): RefusalScope {
  switch (status) {
    // Each cluster has its own logins and rights.
    case 401:
    case 403:
      return 'permission';
    case 400:
    case 422:
      return 'request';
    case 409:
    case 410:
    case 429:
      return 'moment';
    default:
      return 'unknown';
  }
}
