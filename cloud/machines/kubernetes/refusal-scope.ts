import type { RefusalScope } from '../../../domain/slice.js';

/** The error of a failed call. */
export interface ApiFailure {
  /** The HTTP status; absent if there was no answer. */
  readonly status?: number;
  /** Kubernetes' reason, such as `AlreadyExists`. Absent: the answer is not from an API server. */
  readonly reason?: string;
  readonly message: string;
}

/**
 * The scope of a refusal of Kubernetes (docs/adr/0042). Texts count first, because they say more than the code: RBAC, a
 * ResourceQuota, admission and a namespace that is being deleted all answer 403.
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
  // Texts of KubeRay's events.
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
