import type { ProjectFacts } from '../project/facts.js';
import type { ErrorInfo } from '../tpu/api-error.js';
import { ApiError } from '../tpu/api-error.js';
import type { AccessControl, Caller, CallHeaders } from './access-control.js';
import { isInScope, mayDo } from './access-control.js';

/** A call of one of Google's APIs, as Google's front end sees it before the API does. */
export interface FrontCall {
  readonly headers: CallHeaders;
  /** Such as `tpu.googleapis.com`. */
  readonly service: string;
  /** The RPC's full name, for the refusal's details. */
  readonly method: string;
  /** Id or number. */
  readonly project: string;
  /** Absent: any caller with a token may call. */
  readonly permission?: string;
  /** Resource that the permission is needed on. */
  readonly resource: string;
  /** Location of the call, if the API has locations. */
  readonly location?: string;
  /** OAuth scopes that suffice beside `cloud-platform`. */
  readonly scopes?: readonly string[];
  /** A missing project is refused like a missing permission, so that callers cannot learn which projects exist. */
  readonly hidesUnknownProjects?: boolean | undefined;
  /** The API's own text for a missing permission; absent: the common text. */
  readonly deniedText?: (permission: string, resource: string) => string;
}

const SERVICE_TITLES: Readonly<Record<string, string>> = {
  'cloudresourcemanager.googleapis.com': 'Cloud Resource Manager API',
  'compute.googleapis.com': 'Compute Engine API',
  'iam.googleapis.com': 'Identity and Access Management (IAM) API',
  'orgpolicy.googleapis.com': 'Organization Policy API',
  'serviceusage.googleapis.com': 'Service Usage API',
  'storage.googleapis.com': 'Cloud Storage API',
  'tpu.googleapis.com': 'Cloud TPU API',
};

const CREDENTIAL_ADVICE =
  'Expected OAuth 2 access token, login cookie or other valid authentication credential. ' +
  'See https://developers.google.com/identity/sign-in/web/devconsole-project.';

/**
 * Applies the checks of Google's front end, in its order: credentials, scopes, the project to bill, the project, whether the
 * service is enabled, the location, the permission. Texts and reasons are as users reported them (README.md names the sources).
 * @returns the caller
 * @throws ApiError
 */
export function passFront(access: AccessControl, facts: ProjectFacts, call: FrontCall): Caller {
  const caller = access.caller(call.headers);
  if (caller.kind === 'nobody') throw unauthenticated(caller.why, call);
  if (!isInScope(caller, call.scopes ?? [])) throw insufficientScope(call);
  if (!mayBeCountedFor(caller, call)) throw userProjectDenied(call);
  if (!isKnownProject(facts, call.project)) throw unknownProject(call);
  if (facts.disabledServices.includes(call.service)) throw serviceDisabled(facts, call);
  if (call.location !== undefined && facts.deniedLocations.includes(call.location)) throw locationDenied(call);
  if (call.permission !== undefined && !mayDo(caller, call.permission)) throw permissionDenied(call.permission, call);
  return caller;
}

/** Placeholder for the project, if the resource's own name determines it. */
const ANY_PROJECT = '-';

function isKnownProject(facts: ProjectFacts, project: string): boolean {
  return facts.known === 'any' || [...facts.known, facts.number, ANY_PROJECT].includes(project);
}

const TOKEN_REFUSALS: Readonly<Record<NoCaller['why'], readonly [text: string, reason: string]>> = {
  'no-token': ['Request is missing required authentication credential.', 'CREDENTIALS_MISSING'],
  'unknown-token': ['Request had invalid authentication credentials.', 'ACCESS_TOKEN_TYPE_UNSUPPORTED'],
  'expired-token': ['Request had invalid authentication credentials.', 'ACCESS_TOKEN_EXPIRED'],
};
type NoCaller = Extract<Caller, { readonly kind: 'nobody' }>;

function unauthenticated(why: NoCaller['why'], call: FrontCall): ApiError {
  const [text, reason] = TOKEN_REFUSALS[why];
  const metadata = { service: call.service, method: call.method };
  return new ApiError('UNAUTHENTICATED', `${text} ${CREDENTIAL_ADVICE}`, googleInfo(reason, metadata));
}

/** A caller that names a project to bill must be allowed to use it. */
function mayBeCountedFor(caller: Caller, { headers }: FrontCall): boolean {
  return headers.userProject === undefined || mayDo(caller, 'serviceusage.services.use');
}

function userProjectDenied({ service, headers: { userProject = '' } }: FrontCall): ApiError {
  const text =
    `Caller does not have required permission to use project ${userProject}. Grant the caller the ` +
    'roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use permission, by ' +
    `visiting https://console.developers.google.com/iam-admin/iam/project?project=${userProject} and then retry. ` +
    'Propagation of the new permission may take a few minutes.';
  return new ApiError(
    'PERMISSION_DENIED',
    text,
    googleInfo('USER_PROJECT_DENIED', { consumer: `projects/${userProject}`, service }),
  );
}

function insufficientScope({ service, method }: FrontCall): ApiError {
  const info = googleInfo('ACCESS_TOKEN_SCOPE_INSUFFICIENT', { service, method });
  return new ApiError('PERMISSION_DENIED', 'Request had insufficient authentication scopes.', info);
}

function unknownProject(call: FrontCall): ApiError {
  const { project, service, permission, hidesUnknownProjects } = call;
  if (hidesUnknownProjects === true) {
    if (permission !== undefined) return permissionDenied(permission, call);
    return new ApiError('PERMISSION_DENIED', 'The caller does not have permission');
  }
  const info = googleInfo('CONSUMER_INVALID', { consumer: `projects/${project}`, service });
  return new ApiError('PERMISSION_DENIED', `Permission denied on resource project ${project}.`, info);
}

function serviceDisabled(facts: ProjectFacts, { service }: FrontCall): ApiError {
  const title = SERVICE_TITLES[service] ?? service;
  const url = `https://console.developers.google.com/apis/api/${service}/overview?project=${facts.number}`;
  const text =
    `${title} has not been used in project ${facts.number} before or it is disabled. Enable it by visiting ${url} then ` +
    'retry. If you enabled this API recently, wait a few minutes for the action to propagate to our systems and retry.';
  const info = googleInfo('SERVICE_DISABLED', { consumer: `projects/${facts.number}`, service });
  return new ApiError('PERMISSION_DENIED', text, info);
}

function locationDenied({ project, service, location = '' }: FrontCall): ApiError {
  const info = googleInfo('LOCATION_POLICY_VIOLATED', { consumer: `projects/${project}`, location, service });
  return new ApiError('PERMISSION_DENIED', `Permission denied on 'locations/${location}' (or it may not exist).`, info);
}

function permissionDenied(permission: string, { service, resource, deniedText }: FrontCall): ApiError {
  const text =
    deniedText?.(permission, resource) ??
    `Permission '${permission}' denied on resource '//${service}/${resource}' (or it may not exist).`;
  const info = { reason: 'IAM_PERMISSION_DENIED', domain: service, metadata: { permission, resource } };
  return new ApiError('PERMISSION_DENIED', text, info);
}

function googleInfo(reason: string, metadata: Readonly<Record<string, string>>): ErrorInfo {
  return { reason, domain: 'googleapis.com', metadata };
}
