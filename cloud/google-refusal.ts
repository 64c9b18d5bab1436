import { grantCommand, roleWith } from './google-project/roles.js';

/** The facts of a failed call to a Google API, whether gRPC, REST or the auth library reports it. */
export interface GoogleError {
  readonly message: string;
  /** google.rpc.Code. */
  readonly code?: number;
  readonly httpStatus?: number;
  /** The name of `code` in a REST answer: one HTTP status stands for several codes. */
  readonly status?: string;
  /** From ErrorInfo, such as `SERVICE_DISABLED`. */
  readonly reason?: string;
  /** From ErrorInfo: `service`, `consumer`, `permission`, `resource`. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export type RefusalKind =
  | 'no-credentials'
  | 'expired-credentials'
  | 'narrow-scopes'
  | 'api-disabled'
  | 'billing-disabled'
  | 'quota-project'
  | 'unknown-project'
  | 'unknown-zone'
  | 'no-permission';

/** A refusal that a person can end, in jobctl's words. Every message about it uses these words. */
export interface GoogleRefusal {
  readonly kind: RefusalKind;
  /** One line, no full stop. */
  readonly what: string;
  /** The action that ends the refusal, with the command. */
  readonly remedy: string;
}

const LOGIN = 'gcloud auth application-default login';

/**
 * Explains a refusal of Google's and tells how to end it. Undefined if the error is not about credentials, rights, project or
 * API. Texts and reasons: docs/facts.md, "Cloud TPU", and field reports (2024 to 2026) for those of the auth library.
 */
export function googleRefusal(error: GoogleError): GoogleRefusal | undefined {
  const bounded = { ...error, message: readable(error.message) };
  for (const read of READERS) {
    const found = read(bounded);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Cuts the text, because some of the expressions that search it take time quadratic in its length. */
export const readable = (message: string): string => message.slice(0, MOST_CHARACTERS);
const MOST_CHARACTERS = 4_096;

/** The refusal's words, else Google's own text. */
export function refusalText(error: GoogleError): string {
  const refusal = googleRefusal(error);
  return refusal === undefined ? error.message : inOneLine(refusal);
}

export function inOneLine({ what, remedy }: Pick<GoogleRefusal, 'what' | 'remedy'>): string {
  return `${what}: ${remedy}`;
}

/** There is no login at all, or its key file cannot be read. */
function noCredentials(text: string): GoogleRefusal {
  const first = text.split('\n')[0]?.replace(/\. Browse to .*/, '') ?? '';
  return {
    kind: 'no-credentials',
    what: `no Google credentials (${first})`,
    remedy: `run '${LOGIN}' or set GOOGLE_APPLICATION_CREDENTIALS`,
  };
}

/** The order matters: an API that is not enabled also refuses with the words of a missing permission. */
const READERS: readonly ((error: GoogleError) => GoogleRefusal | undefined)[] = [
  missingCredentials,
  expiredCredentials,
  narrowScopes,
  disabledApi,
  disabledBilling,
  quotaProject,
  unknownZone,
  missingPermission,
  unknownProject,
];

/** Our own reason for a failure before anything is sent: the auth library has many texts for it. */
export const NO_CREDENTIALS = 'NO_CREDENTIALS';
const NO_CREDENTIALS_TEXT = /could not load the default credentials|^The file at .* does not exist/i;

function missingCredentials({ message, reason }: GoogleError): GoogleRefusal | undefined {
  return reason === NO_CREDENTIALS || NO_CREDENTIALS_TEXT.test(message) ? noCredentials(message) : undefined;
}

/** The auth library's texts if a login cannot be renewed. They also reach us inside gRPC errors of several codes. */
const EXPIRED_TEXT = /invalid_grant|invalid_rapt|rapt_required|invalid_client|unauthorized_client/i;
const UNAUTHENTICATED = 16;

function expiredCredentials({ message, code, httpStatus, reason }: GoogleError): GoogleRefusal | undefined {
  const isRefused = code === UNAUTHENTICATED || httpStatus === 401 || reason === 'ACCESS_TOKEN_EXPIRED';
  if (!isRefused && !EXPIRED_TEXT.test(message)) return undefined;
  const isReauthentication = /invalid_rapt|rapt_required/i.test(message);
  const what = isReauthentication
    ? 'the Google login has run out: the organization asks for a new one from time to time'
    : 'the Google login has expired, was revoked, or is not accepted';
  return {
    kind: 'expired-credentials',
    what,
    remedy: isReauthentication ? `run '${LOGIN}'` : `run '${LOGIN}'; of a service account: is its key still there?`,
  };
}

/** The VM's access scopes cut the rights of the VM's own service account. */
function narrowScopes({ message, reason }: GoogleError): GoogleRefusal | undefined {
  if (reason !== 'ACCESS_TOKEN_SCOPE_INSUFFICIENT' && !/insufficient authentication scopes/i.test(message))
    return undefined;
  return {
    kind: 'narrow-scopes',
    what: "the access scopes of this VM, or of the login, are too narrow for Google's APIs",
    remedy: `give the VM the scope cloud-platform ('gcloud compute instances set-service-account', while it is stopped), or run '${LOGIN}'`,
  };
}

/** The project, by id or number, whose API or account the call was for. */
const consumerOf = (metadata: Readonly<Record<string, string>>): string | undefined =>
  metadata['consumer']?.replace(/^projects\//, '');

const DISABLED_TEXT = /has not been used in project (\S+) before or it is disabled/;

function disabledApi({ message, reason, metadata = {} }: GoogleError): GoogleRefusal | undefined {
  const text = DISABLED_TEXT.exec(message);
  if (reason !== 'SERVICE_DISABLED' && text === null) return undefined;
  const service = metadata['service'] ?? /apis\/api\/([\w.-]+)\/overview/.exec(message)?.[1] ?? 'SERVICE';
  const project = text?.[1] ?? consumerOf(metadata) ?? 'PROJECT';
  return { kind: 'api-disabled', ...disabledWords(service, project) };
}

export function disabledWords(service: string, project: string): Pick<GoogleRefusal, 'what' | 'remedy'> {
  return {
    what: `the ${apiTitle(service)} (${service}) is not enabled in project ${project}`,
    remedy: `run 'gcloud services enable ${service} --project=${project}' and wait a few minutes`,
  };
}

const API_TITLES: Readonly<Record<string, string>> = {
  'tpu.googleapis.com': 'Cloud TPU API',
  'compute.googleapis.com': 'Compute Engine API',
  'storage.googleapis.com': 'Cloud Storage API',
  'cloudresourcemanager.googleapis.com': 'Resource Manager API',
  'serviceusage.googleapis.com': 'Service Usage API',
  'orgpolicy.googleapis.com': 'Organization Policy API',
  'iam.googleapis.com': 'IAM API',
};

export const apiTitle = (service: string): string => API_TITLES[service] ?? 'API';

function disabledBilling({ message, reason, metadata = {} }: GoogleError): GoogleRefusal | undefined {
  const isOff =
    reason === 'BILLING_DISABLED' ||
    /requires billing to be enabled|billing account .* (closed|disabled|absent)/i.test(message);
  if (!isOff) return undefined;
  const project = consumerOf(metadata) ?? /project #?([\w:.-]+\w)/i.exec(message)?.[1] ?? 'PROJECT';
  return {
    kind: 'billing-disabled',
    what: `project ${project} has no billing account that is open`,
    remedy: `run 'gcloud billing projects link ${project} --billing-account=ACCOUNT'`,
  };
}

const USE_PROJECT_TEXT = /does not have required permission to use project ([\w:.-]*\w)/;

function quotaProject({ message, reason, metadata = {} }: GoogleError): GoogleRefusal | undefined {
  const text = USE_PROJECT_TEXT.exec(message);
  const isUnset = /requires a quota project/.test(message);
  if (reason !== 'USER_PROJECT_DENIED' && text === null && !isUnset) return undefined;
  const project = text?.[1] ?? consumerOf(metadata) ?? 'PROJECT';
  return {
    kind: 'quota-project',
    what: isUnset
      ? "a person's login names no project that its calls are counted for"
      : `this login may not have its calls counted for project ${project} (serviceusage.services.use)`,
    remedy: `run 'gcloud auth application-default set-quota-project PROJECT' with one that it may use, or '${grantCommand('roles/serviceusage.serviceUsageConsumer', `projects/${project}`)}'`,
  };
}

/** Texts of a policy, and of a zone without Cloud TPU (dstackai/gpuhunt#98, 2024-09). */
const UNKNOWN_ZONE_TEXTS: readonly RegExp[] = [
  /Permission denied on 'locations\/([^']+)'/,
  /^Location ([a-z0-9-]+) is not found or access is unauthorized/i,
];

function unknownZone({ message, reason }: GoogleError): GoogleRefusal | undefined {
  const text = UNKNOWN_ZONE_TEXTS.map((each) => each.exec(message)).find((found) => found !== null) ?? null;
  if (reason !== 'LOCATION_POLICY_VIOLATED' && text === null) return undefined;
  return {
    kind: 'unknown-zone',
    what: `zone ${text?.[1] ?? ''} does not exist, or this project may not use it`,
    remedy: "see 'gcloud compute tpus locations list'",
  };
}

/** Texts of TPU and most APIs, of Compute Engine, of Cloud Storage. */
const PERMISSION_TEXTS: readonly RegExp[] = [
  /Permission '(?<permission>[\w.]+)' denied on (?:resource )?'?(?<resource>[^'\s]+)?/,
  /Required '(?<permission>[\w.]+)' permission for '(?<resource>[^']+)'/,
  /does not have (?<permission>storage\.[\w.]+) access/,
];

function missingPermission({ message, reason, metadata = {} }: GoogleError): GoogleRefusal | undefined {
  const groups = PERMISSION_TEXTS.map((text) => text.exec(message)?.groups).find((found) => found !== undefined);
  const permission = metadata['permission'] ?? groups?.['permission'];
  if (permission === undefined || (reason !== 'IAM_PERMISSION_DENIED' && groups === undefined)) return undefined;
  const named = metadata['resource'] ?? groups?.['resource'];
  const resource = named === '(or' || named === 'resource' ? undefined : named?.replace(/^\/\/[\w.-]+\//, '');
  return { kind: 'no-permission', ...permissionWords(permission, resource) };
}

/**
 * @param resource a path such as `projects/P/locations/Z`, `gs://B`, or a service account's address
 * @param member the identity that needs the role
 */
export function permissionWords(
  permission: string,
  resource: string | undefined,
  member?: string,
): Pick<GoogleRefusal, 'what' | 'remedy'> {
  const role = roleWith(permission);
  const where = resource === undefined ? '' : ` on ${resource}, or that does not exist`;
  return {
    what: `this login has no permission ${permission}${where}`,
    remedy:
      role === undefined
        ? 'somebody who owns it has to give a role that has it'
        : `an owner runs '${grantCommand(role, grantedOn(resource), member)}'`,
  };
}

/** Roles are given on a project, a bucket or a service account, not on a resource inside one. */
function grantedOn(resource = 'PROJECT'): string {
  const bucket = /^projects\/_\/buckets\/([^/]+)/.exec(resource)?.[1];
  if (bucket !== undefined) return `gs://${bucket}`;
  return /^projects\/([^/]+)/.exec(resource)?.[0] ?? resource;
}

const PROJECT_TEXTS: readonly RegExp[] = [
  /Project '?([\w:.-]+?)'? not found or (?:deleted|permission denied)/i,
  /Permission denied on resource project ([\w:.-]*\w)/i,
  /(?:access to|permission on) project '?([\w:.-]*\w)'? (?:was )?denied/i,
];

function unknownProject({ message, reason, metadata = {} }: GoogleError): GoogleRefusal | undefined {
  const project = PROJECT_TEXTS.map((text) => text.exec(message)?.[1]).find((found) => found !== undefined);
  if (reason !== 'CONSUMER_INVALID' && project === undefined) return undefined;
  return {
    kind: 'unknown-project',
    ...unknownProjectWords(project ?? consumerOf(metadata) ?? ''),
  };
}

/** Google gives one answer for "does not exist" and for "may not see it", so these words name both causes. */
export function unknownProjectWords(project: string): Pick<GoogleRefusal, 'what' | 'remedy'> {
  return {
    what: `project ${project} does not exist, or this login has no right to see it`,
    remedy: "compare its id with 'gcloud projects list'; an id is not the name nor the number",
  };
}
