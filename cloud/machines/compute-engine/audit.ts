import { machineTypeOf } from '../../../domain/machine-kinds/compute-engine/words.js';
import { GoogleCallFailed } from '../../google-project/port.js';
import { isOutage, GoogleRest } from '../../google-project/rest.js';
import { type AuditedResource, type OnUnread, readParts, refuseUnread } from '../audited-resource.js';
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
 * Every VM of a Google project, in all zones, whoever owns it. The auditor's own reader: no filter, its own paging and its own
 * reading of the answers, so that a fault of the adapter cannot hide from the audit behind itself.
 * @throws CloudUnavailable; without `onUnread` also if a zone could not be reached
 */
export async function listEveryVm(
  { restEndpoint, ...options }: AuditOptions,
  onUnread: OnUnread = refuseUnread,
): Promise<readonly AuditedResource[]> {
  const { googleProject } = options;
  const rest = new GoogleRest({ ...options, ...(restEndpoint !== undefined && { apiEndpoint: restEndpoint }) });
  const path = `/compute/v1/projects/${encodeURIComponent(googleProject)}/aggregated/instances`;
  const readAll = async (take: (vm: AuditedResource) => void): Promise<void> => {
    for (let token: string | undefined = ''; token !== undefined;) {
      const query = new URLSearchParams({ maxResults: '200', ...(token !== '' && { pageToken: token }) });
      const page: Page = await rest.get<Page>('compute', `${path}?${query}`).catch(throwPortError);
      for (const { instances = [] } of Object.values(page.items ?? {}))
        for (const instance of instances) take(auditedVm(instance, googleProject));
      for (const place of unreachedIn(page))
        onUnread(
          `VMs in ${lastOf(place)}`,
          new CloudUnavailable(`audit: VMs of ${place} could not be read: Google did not reach it`),
        );
      token = page.nextPageToken || undefined;
    }
  };
  return readParts([['VMs', readAll]], onUnread);
}

function unreachedIn({ unreachables = [], items = {} }: Page): readonly string[] {
  const warned = Object.entries(items).flatMap(([place, { warning }]) =>
    warning?.code === 'UNREACHABLE' ? [place] : [],
  );
  return [...unreachables, ...warned];
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
