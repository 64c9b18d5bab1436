import type { RefusalScope } from '../../../domain/slice.js';
import { isOutage, GoogleRest, type GoogleRestOptions } from '../../google-project/rest.js';
import { GoogleCallFailed } from '../../google-project/port.js';
import { refusalText, type GoogleError, googleRefusal, readable } from '../../google-refusal.js';
import { CallBudget, type CallRate } from '../api-load.js';
import { CloudRefused, CloudUnavailable, notReached, type OnMissing } from '../port.js';

export interface ComputeSettings {
  /** Limit over all calls to one Google project. */
  readonly budget: CallRate;
  /** Resources per page of a listing, 1 to 500. */
  readonly pageSize: number;
  /** Called at the end of each call, with `OK` or the HTTP status. */
  readonly onCall?: (method: string, code: string) => void;
}

/** Empty: Google's address. */
type ComputeServer = Pick<GoogleRestOptions, 'apiEndpoint' | 'accessTokenFile'>;

/** The fields of `compute#operation` that are read. */
export interface ApiOperation {
  readonly name?: string;
  readonly status?: string;
  readonly operationType?: string;
  readonly targetLink?: string;
  readonly targetId?: string;
  /** RFC 3339. */
  readonly insertTime?: string;
  readonly error?: { readonly errors?: readonly { readonly code?: string; readonly message?: string }[] };
}

/** The fields of `compute#instance` that are read. */
export interface ApiInstance {
  readonly id?: string;
  readonly name?: string;
  /** URL. */
  readonly zone?: string;
  readonly status?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly networkInterfaces?: readonly {
    readonly networkIP?: string;
    readonly accessConfigs?: readonly { readonly natIP?: string }[];
  }[];
  readonly scheduling?: { readonly provisioningModel?: string; readonly preemptible?: boolean };
  readonly metadata?: { readonly items?: readonly { readonly key: string; readonly value?: string }[] };
  readonly resourceStatus?: { readonly upcomingMaintenance?: { readonly maintenanceStatus?: string } };
}

interface ApiGuestAttributes {
  readonly queryValue?: {
    readonly items?: readonly { readonly namespace?: string; readonly key?: string; readonly value?: string }[];
  };
}

interface Page<T> {
  readonly items?: T;
  readonly nextPageToken?: string;
  readonly unreachables?: readonly string[];
}
interface ScopedInstances {
  readonly instances?: readonly ApiInstance[];
  readonly warning?: { readonly code?: string };
}

/** Limit of pages, more than any project has. It ends a listing if a server repeats its page tokens for ever. */
const MAX_PAGES = 1000;

/** A failed call with the server's error. Only `compute-api` throws it and only the adapter catches it. */
export class CallFailed extends Error {
  override readonly name = 'CallFailed';
  readonly error: ComputeFailure;

  constructor(error: ComputeFailure, what: string) {
    super(`${what}: ${error.message}`);
    this.error = error;
  }
}

/** `projects/P/zones/Z` */
interface ZonePlace {
  readonly googleProject: string;
  readonly zone: string;
}
export const zonePath = ({ googleProject, zone }: ZonePlace): string => `projects/${googleProject}/zones/${zone}`;

/**
 * The calls of Compute Engine's v1 REST API that jobctl makes, one method each. Every call has a deadline and counts against the
 * Google project's budget. No retries and no waiting for operations. docs/adr/0071 says why it does not use Google's client.
 */
export class ComputeApi {
  readonly #server: ComputeServer;
  readonly #settings: ComputeSettings;
  /** Keyed by Google project. */
  readonly #projects = new Map<string, { readonly budget: CallBudget; rest: GoogleRest }>();

  constructor(server: ComputeServer, settings: ComputeSettings) {
    this.#server = server;
    this.#settings = settings;
  }

  /** @param requestId a UUID. A repeated request with it has no second effect; the answer is the first one's operation. */
  insert(place: ZonePlace, body: object, requestId: string): Promise<ApiOperation> {
    return this.#call('instances.insert', place, (rest) =>
      rest.post('compute', `${pathOf(place)}/instances?requestId=${requestId}`, body),
    );
  }

  delete(place: ZonePlace, name: string): Promise<ApiOperation> {
    return this.#call('instances.delete', place, (rest) =>
      rest.delete('compute', `${pathOf(place)}/instances/${encodeURIComponent(name)}`),
    );
  }

  get(place: ZonePlace, name: string): Promise<ApiInstance | undefined> {
    return this.#read('instances.get', place, `/instances/${encodeURIComponent(name)}`);
  }

  operation(place: ZonePlace, name: string): Promise<ApiOperation | undefined> {
    return this.#read('zoneOperations.get', place, `/operations/${encodeURIComponent(name)}`);
  }

  /** The provider's own operations that took back VMs of the zone. */
  preemptions(place: ZonePlace): Promise<readonly ApiOperation[]> {
    return this.#list('zoneOperations.list', place, '/operations', 'operationType="compute.instances.preempted"');
  }

  /** The latest create operation for a VM of that name; undefined if Google has forgotten it. */
  async insertOf(place: ZonePlace, name: string): Promise<ApiOperation | undefined> {
    const target = `https://www.googleapis.com/compute/v1/${zonePath(place)}/instances/${name}`;
    const filter = `(operationType="insert") AND (targetLink="${target}")`;
    const found = await this.#list<ApiOperation>('zoneOperations.list', place, '/operations', filter);
    return found.toSorted((a, b) => ((a.insertTime ?? '') < (b.insertTime ?? '') ? 1 : -1))[0];
  }

  /** The VMs of one owner in one zone. */
  list(place: ZonePlace, owner: string): Promise<readonly ApiInstance[]> {
    return this.#list('instances.list', place, '/instances', `labels.jobctl-owner="${owner}"`);
  }

  /** The same in all zones. Throws if a part could not be read, unless `onMissing` is given: a VM missing then is not gone. */
  async listEverywhere(googleProject: string, owner: string, onMissing?: OnMissing): Promise<readonly ApiInstance[]> {
    const all: ApiInstance[] = [];
    const query = {
      filter: `labels.jobctl-owner="${owner}"`,
      returnPartialSuccess: onMissing === undefined ? 'false' : 'true',
    };
    const pages = this.#pages<Readonly<Record<string, ScopedInstances>>>(
      'instances.aggregatedList',
      { googleProject, zone: '-' },
      `/compute/v1/projects/${encodeURIComponent(googleProject)}/aggregated/instances`,
      query,
      onMissing,
    );
    for await (const { items = {} } of pages) {
      for (const [scope, { instances = [], warning }] of Object.entries(items)) {
        if (warning?.code !== undefined && warning.code !== 'NO_RESULTS_ON_PAGE') {
          if (!onMissing)
            throw new CloudUnavailable(`instances.aggregatedList ${googleProject}: ${scope}: ${warning.code}`);
          onMissing(zoneOf(scope), `instances.aggregatedList: ${warning.code}`);
        }
        for (const one of instances) all.push(one);
      }
    }
    return all;
  }

  /** The guest attributes that the VM's agent wrote; undefined if it wrote none, or they are off for the VM. */
  guestAttributes(place: ZonePlace, name: string): Promise<ApiGuestAttributes | undefined> {
    const path = `/instances/${encodeURIComponent(name)}/getGuestAttributes?queryPath=hostkeys%2F`;
    return this.#read('instances.getGuestAttributes', place, path, () => true);
  }

  async #list<T>(method: string, place: ZonePlace, path: string, filter: string): Promise<readonly T[]> {
    const all: T[] = [];
    const pages = this.#pages<readonly T[]>(method, place, `${pathOf(place)}${path}`, { filter });
    for await (const { items = [] } of pages) for (const one of items) all.push(one);
    return all;
  }

  async *#pages<T>(
    method: string,
    place: ZonePlace,
    path: string,
    query: Readonly<Record<string, string>>,
    onMissing?: OnMissing,
  ): AsyncGenerator<Page<T>> {
    let pageToken = '';
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const parameters = new URLSearchParams({
        ...query,
        maxResults: String(this.#settings.pageSize),
        ...(pageToken !== '' && { pageToken }),
      });
      const page = await this.#call(method, place, (rest) =>
        rest.get<Page<T>>('compute', `${path}?${parameters}`),
      ).catch(throwCloudError);
      notReached(page.unreachables ?? [], { call: `${method} ${path}`, method, onMissing });
      yield page;
      if (!page.nextPageToken) return;
      pageToken = page.nextPageToken;
    }
    throw new CloudUnavailable(`${method} ${path}: no end after ${MAX_PAGES} pages`);
  }

  /** @returns undefined if the API says that the resource does not exist */
  async #read<T>(
    method: string,
    place: ZonePlace,
    path: string,
    isAbsent: (error: ComputeFailure) => boolean = isAboutIt(path),
  ): Promise<T | undefined> {
    try {
      return await this.#call(method, place, (rest) => rest.get<T>('compute', `${pathOf(place)}${path}`));
    } catch (error) {
      if (error instanceof CallFailed && error.error.httpStatus === 404 && isAbsent(error.error)) return undefined;
      return throwCloudError(error);
    }
  }

  /** @throws CallFailed */
  async #call<T>(method: string, place: ZonePlace, run: (rest: GoogleRest) => Promise<T>): Promise<T> {
    const project = this.#projectOf(place.googleProject);
    await project.budget.take(method);
    const { rest } = project;
    const { onCall = () => undefined } = this.#settings;
    try {
      const answer = await run(rest);
      onCall(method, 'OK');
      return answer;
    } catch (thrown) {
      if (!(thrown instanceof GoogleCallFailed)) throw thrown;
      const { error, refusal } = thrown;
      onCall(method, String(error.httpStatus ?? 'UNAVAILABLE'));
      // A person may have logged in again, so the next call reads the login anew.
      const isLogin = refusal?.kind === 'no-credentials' || refusal?.kind === 'expired-credentials';
      if (isLogin && project.rest === rest) project.rest = this.#restOf(place.googleProject);
      throw new CallFailed(error, `${method} ${zonePath(place)}`);
    }
  }

  #projectOf(googleProject: string) {
    const known = this.#projects.get(googleProject);
    if (known !== undefined) return known;
    const made = { budget: new CallBudget(this.#settings.budget), rest: this.#restOf(googleProject) };
    this.#projects.set(googleProject, made);
    return made;
  }

  #restOf(googleProject: string): GoogleRest {
    return new GoogleRest({ googleProject, ...this.#server });
  }
}

/** The zone in `zones/Z` or in a URL that ends so. */
const zoneOf = (scope: string): string => scope.split('/').at(-1) ?? scope;
const pathOf = ({ googleProject, zone }: ZonePlace): string =>
  `/compute/v1/projects/${encodeURIComponent(googleProject)}/zones/${encodeURIComponent(zone)}`;

/** Only an answer about the resource itself shows that it is gone: not one about its project or zone, nor a proxy's answer. */
const isAboutIt = (path: string) => {
  const [, collection = '', name = ''] = path.split('/');
  return ({ message }: ComputeFailure): boolean => message.includes(`/${collection}/${decodeURIComponent(name)}'`);
};

/** Turns a failed call into the port's errors. */
export function throwCloudError(error: unknown): never {
  if (!(error instanceof CallFailed)) throw error;
  const { httpStatus, reason } = error.error;
  const isPassing = reason === undefined && (httpStatus === undefined || isOutage(httpStatus));
  if (isPassing || isRateLimit(error.error)) throw new CloudUnavailable(error.message, { cause: error });
  throw new CloudRefused(refusalText(error.error), { cause: error });
}

/** The error of a failed call, or of the operation of an accepted call. */
export interface ComputeFailure extends GoogleError {
  /** The code of an operation's error, such as `QUOTA_EXCEEDED`. */
  readonly errorCode?: string;
}

/**
 * The scope of a refusal of Compute Engine (docs/adr/0042), whether a call was refused or its operation failed. It checks
 * problems of the login or the project first, then Google's codes and texts (docs/compute-engine.md has their sources), then the
 * HTTP status. An unknown refusal is `unknown`, never `request`, because only `request` may be final.
 */
export function refusalScope(failure: ComputeFailure): RefusalScope {
  const refusal = googleRefusal(failure);
  if (refusal !== undefined) return refusal.kind === 'unknown-zone' ? 'zone-lasting' : 'installation';
  const said = readable(`${failure.errorCode ?? ''} ${failure.message}`);
  return TEXTS.find(({ text }) => text.test(said))?.scope ?? scopeOfStatus(failure);
}

/** The API's own limit of calls: the call had no effect and may be repeated. */
export const isRateLimit = ({ errorCode = '', message }: ComputeFailure): boolean =>
  RATE_LIMIT.test(`${errorCode} ${message}`);

const RATE_LIMIT =
  /rate ?limit ?exceeded|RATE_LIMIT_EXCEEDED|RESOURCE_OPERATION_RATE_EXCEEDED|CONCURRENT_OPERATIONS_QUOTA_EXCEEDED|quota metric/i;

/** The order matters. */
const TEXTS: readonly { readonly text: RegExp; readonly scope: RefusalScope }[] = [
  { text: RATE_LIMIT, scope: 'moment' },
  {
    text: /RESOURCE_POOL_EXHAUSTED|does not have enough resources|insufficientCapacity|CapacityExceeded|STOCKOUT/i,
    scope: 'zone',
  },
  // A quota of the whole project: no other zone has more of it. A limit of 0 stays until a person asks Google for more.
  { text: /Quota '\w+' exceeded\.\s+Limit: 0(\.0)? globally/, scope: 'installation' },
  { text: /Quota '\w+' exceeded\.\s+Limit: [\d.]+ globally|Quota '\w*ALL_REGIONS' exceeded/, scope: 'moment' },
  { text: /QUOTA_EXCEEDED|quotaExceeded|Quota '\w+' exceeded/, scope: 'zone' },
  { text: /reservations?\b.* (not have|insufficient|enough)/i, scope: 'zone' },
  { text: /does not exist in zone|Unknown zone/, scope: 'zone-lasting' },
  { text: /\/(machineTypes|acceleratorTypes|diskTypes|reservations)\/[^']*' was not found/, scope: 'zone-lasting' },
  // A create that collided with a preemption, or with a name that is still being deleted.
  { text: /UNSUPPORTED_OPERATION|RESOURCE_NOT_READY|is not ready|resourceInUse/, scope: 'moment' },
  { text: /\/(images|imageFamilyViews|networks|subnetworks|disks)\/[^']*' was not found/, scope: 'request' },
  { text: /do not support live migration|Invalid value for field|Invalid JSON payload/, scope: 'request' },
  { text: /does not have access to service account|SERVICE_ACCOUNT_ACCESS_DENIED/, scope: 'installation' },
  // Set by an organization; gcp.resourceLocations forbids some zones and not others.
  { text: /Constraint constraints\/|PROJECT_CONSTRAINT_VIOLATED/, scope: 'permission' },
];

function scopeOfStatus({ httpStatus, errorCode }: ComputeFailure): RefusalScope {
  if (httpStatus === undefined) return errorCode === undefined ? 'moment' : scopeOfCode(errorCode);
  if (httpStatus === 401) return 'installation';
  if (httpStatus === 403) return 'permission';
  if (httpStatus === 408 || httpStatus === 429 || httpStatus >= 500) return 'moment';
  return 'unknown';
}

const scopeOfCode = (code: string): RefusalScope =>
  /^(INTERNAL|BACKEND|UNKNOWN)_?(INTERNAL_)?ERROR$|UNAVAILABLE|TIMEOUT/.test(code) ? 'moment' : 'unknown';
