import { STATUS_CODES, type StatusName } from '../tpu/api-error.js';
import { ApiRefusal } from './api-status.js';

/** Methods that the admin interface can refuse: calls of the API server, and a pod's exec. */
export const KUBERNETES_METHODS = [
  'kubernetes.get',
  'kubernetes.create',
  'kubernetes.patch',
  'kubernetes.delete',
  'kubernetes.exec',
] as const;
export type KubernetesMethod = (typeof KUBERNETES_METHODS)[number];

/** Undefined for a method that none of our clients uses. */
export const methodOf = (method: string): KubernetesMethod | undefined => METHODS[method];

const METHODS: Readonly<Record<string, KubernetesMethod | undefined>> = {
  GET: 'kubernetes.get',
  POST: 'kubernetes.create',
  PATCH: 'kubernetes.patch',
  DELETE: 'kubernetes.delete',
};

/** `metav1.StatusReason` of an API server's answer. Answers of other servers and proxies have none. */
const REASONS: Partial<Record<StatusName, string>> = {
  INVALID_ARGUMENT: 'BadRequest',
  NOT_FOUND: 'NotFound',
  ALREADY_EXISTS: 'AlreadyExists',
  PERMISSION_DENIED: 'Forbidden',
  RESOURCE_EXHAUSTED: 'TooManyRequests',
  ABORTED: 'Conflict',
  INTERNAL: 'InternalError',
  DEADLINE_EXCEEDED: 'Timeout',
  UNAVAILABLE: 'ServiceUnavailable',
  UNAUTHENTICATED: 'Unauthorized',
};

export const rehearsedRefusal = (status: StatusName, message: string): ApiRefusal =>
  new ApiRefusal(STATUS_CODES[status][1], REASONS[status] ?? '', message);
