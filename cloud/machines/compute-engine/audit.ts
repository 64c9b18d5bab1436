import { machineTypeOf } from '../../../domain/machine-kinds/compute-engine/machine-types.js';
import { GoogleCallFailed } from '../../google-project/port.js';
import { isOutage } from '../../google-project/rest-error.js';
import { GoogleRest } from '../../google-project/rest.js';
import type { AuditedResource } from '../audited-resource.js';
import { CloudRefused, CloudUnavailable } from '../port.js';

export interface AuditOptions {
  /** Absent: Google's address. Over `http:` no credentials are sent. */
  readonly restEndpoint?: string;
  /** File with the token that is sent over `http:`. */
  readonly accessTokenFile?: string;
  readonly googleProject: string;
}

interface RestInstance {
  readonly name: string;
  readonly zone: string;
  readonly status?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly machineType?: string;
  readonly guestAccelerators?: readonly { readonly acceleratorCount?: number }[];
  readonly creationTimestamp?: string;
}
interface Page {
  readonly items?: Readonly<
    Record<string, { readonly instances?: readonly RestInstance[]; readonly warning?: { readonly code?: string } }>
  >;
  readonly nextPageToken?: string;
  readonly unreachables?: readonly string[];
}

/**
 * Lists every VM of a Google project, in all zones and of all owners. It is the auditor's own reader with no filter, its own
 * paging and its own reading of the answers, so that a fault of the adapter cannot hide from the audit.
 * @throws CloudUnavailable also if a zone could not be reached: a part of the list must not pass for all of it
 */
export async function listEveryVm({ restEndpoint, ...options }: AuditOptions): Promise<readonly AuditedResource[]> {
  const { googleProject } = options;
  const rest = new GoogleRest({ ...options, ...(restEndpoint !== undefined && { apiEndpoint: restEndpoint }) });
  const path = `/compute/v1/projects/${encodeURIComponent(googleProject)}/aggregated/instances`;
  const all: AuditedResource[] = [];
  for (let token: string | undefined = ''; token !== undefined;) {
    const query = new URLSearchParams({ maxResults: '200', ...(token !== '' && { pageToken: token }) });
    const page: Page = await rest.get<Page>('compute', `${path}?${query}`).catch(throwPortError);
    const unread = [
      ...(page.unreachables ?? []),
      ...Object.entries(page.items ?? {}).flatMap(([place, { warning }]) =>
        warning?.code === 'UNREACHABLE' ? [place] : [],
      ),
    ];
    if (unread.length > 0) throw new CloudUnavailable(`audit: VMs of ${unread.join(', ')} could not be read`);
    for (const { instances = [] } of Object.values(page.items ?? {}))
      for (const one of instances.map((instance) => auditedVm(instance, googleProject))) all.push(one);
    token = page.nextPageToken || undefined;
  }
  return all;
}

function auditedVm(instance: RestInstance, account: string): AuditedResource {
  const machineType = lastOf(instance.machineType ?? '');
  const attached = (instance.guestAccelerators ?? []).reduce(
    (sum, { acceleratorCount = 0 }) => sum + acceleratorCount,
    0,
  );
  const gpus = attached || machineTypeOf(machineType).gpus?.count;
  const slice = instance.labels?.['jobctl-slice'];
  return {
    kind: 'VM',
    account,
    zone: lastOf(instance.zone),
    name: instance.name,
    state: instance.status ?? 'UNKNOWN',
    labels: instance.labels ?? {},
    accelerator: machineType,
    chips: gpus ?? 0,
    ...(slice !== undefined && slice !== instance.name && { request: slice }),
    ...(instance.creationTimestamp !== undefined && { createTime: instance.creationTimestamp }),
  };
}

const lastOf = (url: string): string => url.slice(url.lastIndexOf('/') + 1);

function throwPortError(error: unknown): never {
  if (!(error instanceof GoogleCallFailed)) throw error;
  const { httpStatus } = error.error;
  const isPassing = error.refusal === undefined && (httpStatus === undefined || isOutage(httpStatus));
  if (isPassing) throw new CloudUnavailable(`audit: ${error.message}`, { cause: error });
  throw new CloudRefused(`audit: ${error.message}`, { cause: error });
}
