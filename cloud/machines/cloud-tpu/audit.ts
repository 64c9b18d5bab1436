import { answerText } from '../../exchange.js';
import { findAccelerator } from '../../../domain/accelerators.js';
import { accessTokens } from '../../access-token.js';
import { isOutage, restErrorOf } from '../../google-project/rest.js';
import { googleRefusal, inOneLine } from '../../google-refusal.js';
import { type AuditedResource, type OnUnread, readParts, refuseUnread } from '../audited-resource.js';
import { CloudRefused, CloudUnavailable } from '../port.js';

export interface AuditOptions {
  /** Absent: Google's address. Over `http:` no credentials are sent. */
  readonly restEndpoint?: string;
  readonly googleProject: string;
  /** An access token; absent: the application default credentials. */
  readonly token?: string;
  /** File with the token that is sent over `http:`. */
  readonly accessTokenFile?: string;
}

const GOOGLE = 'https://tpu.googleapis.com';
const PAGE_SIZE = 200;
const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Every node and queued resource of a Google project, in all zones, whoever owns it. The auditor's own reader: REST, its own
 * paging and its own reading of the answers, so that a fault of the adapter cannot hide from the audit behind itself.
 * @throws CloudUnavailable; without `onUnread` also if a zone could not be reached
 */
export async function listEverything(
  options: AuditOptions,
  onUnread: OnUnread = refuseUnread,
): Promise<readonly AuditedResource[]> {
  const read = reader(options);
  const readAll = (kind: ListedKind) => async (take: (resource: AuditedResource) => void) => {
    for (let pageToken: unknown = ''; typeof pageToken === 'string';) {
      const query = new URLSearchParams({ pageSize: String(PAGE_SIZE) });
      if (pageToken !== '') query.set('pageToken', pageToken);
      const page = await read(kind, query);
      for (const one of (page[kind] ?? []) as readonly object[]) take(LISTED[kind](one));
      for (const place of (page['unreachable'] ?? []) as readonly string[])
        onUnread(`${kind} in ${zoneIn(place)}`, unreached(kind, place));
      pageToken = page['nextPageToken'] || undefined;
    }
  };
  const kinds: readonly ListedKind[] = ['queuedResources', 'nodes'];
  return readParts(
    kinds.map((kind) => [kind, readAll(kind)]),
    onUnread,
  );
}

const LISTED = { queuedResources: auditedQueuedResource, nodes: auditedNode } as const;
type ListedKind = keyof typeof LISTED;

const zoneIn = (place: string): string => place.slice(place.lastIndexOf('/') + 1);
const unreached = (kind: ListedKind, place: string): CloudUnavailable =>
  new CloudUnavailable(`audit: ${kind} of ${place} could not be read: Google did not reach it`);

type Read = (kind: ListedKind, query: URLSearchParams) => Promise<Record<string, unknown>>;

function reader({ restEndpoint = GOOGLE, googleProject, accessTokenFile, token }: AuditOptions): Read {
  const tokens = token === undefined ? accessTokens(restEndpoint, accessTokenFile) : async () => token;
  const base = `${restEndpoint.replace(/\/$/, '')}/v2/projects/${encodeURIComponent(googleProject)}/locations/-`;
  return async (kind, query) => {
    const url = `${base}/${kind}?${query}`;
    const response = await request(url, await tokens().catch(refuseCredentials));
    const text = await answerText(response.body).catch((error: unknown) => {
      throw new CloudUnavailable(`audit: GET ${url}: ${reasonOf(error)}`, { cause: error });
    });
    if (response.ok) return JSON.parse(text) as Record<string, unknown>;
    throw failure(url, response.status, text);
  };
}

async function request(url: string, token: string | undefined): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    return await fetch(url, { headers, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
  } catch (error) {
    throw new CloudUnavailable(`audit: GET ${url}: ${reasonOf(error)}`, { cause: error });
  }
}

function failure(url: string, httpStatus: number, body: string): CloudRefused | CloudUnavailable {
  const error = restErrorOf(httpStatus, body);
  if (isOutage(httpStatus)) return new CloudUnavailable(`audit: GET ${url}: HTTP ${httpStatus}: ${error.message}`);
  const refusal = googleRefusal(error);
  const why = refusal === undefined ? `HTTP ${httpStatus}: ${error.message}` : inOneLine(refusal);
  return new CloudRefused(`audit: GET ${url}: ${why}`);
}

/** If the token is missing for another reason than the login, such as a network that is down, a later call may get it. */
function refuseCredentials(error: unknown): never {
  const refusal = googleRefusal({ message: reasonOf(error) });
  if (refusal !== undefined) throw new CloudRefused(`audit: ${inOneLine(refusal)}`, { cause: error });
  throw new CloudUnavailable(`audit: no access token: ${reasonOf(error)}`, { cause: error });
}

/** `fetch failed` alone does not help a user: the cause holds the reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message || error.cause.name}` : error.message;
}

interface RestNode {
  readonly name?: string;
  readonly state?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly acceleratorType?: string;
  readonly acceleratorConfig?: { readonly type?: string; readonly topology?: string };
  readonly queuedResource?: string;
  readonly createTime?: string;
}
interface RestNodeSpec {
  readonly node?: RestNode;
  /** Present until the service has made one spec for each node. */
  readonly multisliceParams?: { readonly nodeCount?: number };
}
interface RestQueuedResource {
  readonly name?: string;
  readonly state?: { readonly state?: string };
  readonly createTime?: string;
  readonly tpu?: { readonly nodeSpec?: readonly RestNodeSpec[] };
}

function auditedNode(node: RestNode): AuditedResource {
  return {
    kind: 'node',
    ...placeOf(node.name),
    state: node.state ?? 'UNKNOWN',
    labels: node.labels ?? {},
    ...acceleratorOf(node),
    ...(node.queuedResource && { request: placeOf(node.queuedResource).name }),
    ...(node.createTime && { createTime: node.createTime }),
  };
}

function auditedQueuedResource(resource: RestQueuedResource): AuditedResource {
  const nodes = (resource.tpu?.nodeSpec ?? []).flatMap(({ node = {}, multisliceParams }) =>
    Array.from({ length: multisliceParams?.nodeCount || 1 }, () => node),
  );
  const counts = nodes.map((node) => acceleratorOf(node).chips);
  const chips = counts.reduce((sum, count) => (sum === undefined || count === undefined ? undefined : sum + count), 0);
  return {
    kind: 'queued-resource',
    ...placeOf(resource.name),
    state: resource.state?.state ?? 'UNKNOWN',
    labels: nodes[0]?.labels ?? {},
    accelerator: acceleratorOf(nodes[0] ?? {}).accelerator,
    ...(chips !== undefined && { chips }),
    ...(resource.createTime && { createTime: resource.createTime }),
  };
}

/** `projects/P/locations/Z/KIND/NAME`; a name of another form is shown whole. */
function placeOf(path = ''): Pick<AuditedResource, 'account' | 'zone' | 'name'> {
  const match = /^projects\/([^/]+)\/locations\/([^/]+)\/[^/]+\/(.+)$/.exec(path);
  return { account: match?.[1] ?? '', zone: match?.[2] ?? '', name: match?.[3] ?? path };
}

function acceleratorOf({ acceleratorType, acceleratorConfig }: RestNode): { accelerator: string; chips?: number } {
  const { type = '', topology = '' } = acceleratorConfig ?? {};
  const sides = topology.split('x').map(Number);
  const chips = findAccelerator(acceleratorType ?? '')?.chips ?? sides.reduce((product, side) => product * side, 1);
  const accelerator = acceleratorType ?? `${type} ${topology}`.trim();
  return chips > 0 && (acceleratorType || topology) ? { accelerator, chips } : { accelerator };
}
