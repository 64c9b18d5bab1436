import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../domain/errors.js';
import { ownershipFrom } from '../../../domain/identity.js';
import {
  vmNames,
  type ComputeEnginePlan,
  type ComputeEngineRef,
} from '../../../domain/machine-kinds/compute-engine/words.js';
import type { MachineRef } from '../../../domain/machines.js';
import type { Condition, CreateAnswer, Owner } from '../../../domain/slice.js';
import { refusalText } from '../../google-refusal.js';
import { guestFacts } from '../cloud-tpu/guest-attributes.js';
import {
  type Claim,
  CloudRefused,
  CloudUnavailable,
  type GuestAttributes,
  type GuestAttributesPort,
  type Machines,
  type OnMissing,
  type OwnedResource,
  type RemoveAnswer,
  type WatchOptions,
} from '../port.js';
import { DEFAULT_LISTING_PERIODS, type ListingPeriods, SharedLister } from '../api-load.js';
import {
  type ApiInstance,
  type ApiOperation,
  CallFailed,
  ComputeApi,
  type ComputeSettings,
  throwCloudError,
  zonePath,
  type ComputeFailure,
  isRateLimit,
  refusalScope,
} from './compute-api.js';
import { conditionOf, failureOf, isOf, type SeenVm } from './condition.js';
import { SLICE_LABEL, type VmRequest, vmRequests, VMS_LABEL } from './instance-request.js';

export interface ComputeEngineOptions extends Partial<ComputeSettings> {
  /**
   * Absent: Google's own address, with the application default credentials. Over `http:` no credentials are sent, except the
   * token in `accessTokenFile`.
   */
  readonly endpoint?: string;
  readonly accessTokenFile?: string;
  readonly periods?: ListingPeriods;
}

const DEFAULT_SETTINGS: ComputeSettings = { budget: { callsPerSecond: 5, burst: 20 }, pageSize: 500 };

/** VMs of Compute Engine over its REST API. Connects at the first call. */
export function createComputeEngine(options: ComputeEngineOptions = {}): ComputeEngineMachines {
  return new ComputeEngine(options);
}

export type ComputeEngineMachines = Machines<'compute-engine'> & GuestAttributesPort;

/** The VMs of one owner in a zone, keyed by name. */
type ZoneListing = ReadonlyMap<string, ApiInstance>;

class ComputeEngine implements ComputeEngineMachines {
  readonly #api: ComputeApi;
  readonly #periods: ListingPeriods;
  /** Keyed by zone and owner. */
  readonly #listers = new Map<string, SharedLister<WatchOptions, ZoneListing>>();
  #isClosed = false;

  constructor({ endpoint, accessTokenFile, periods, ...settings }: ComputeEngineOptions) {
    const server = {
      ...(endpoint !== undefined && { apiEndpoint: endpoint }),
      ...(accessTokenFile && { accessTokenFile }),
    };
    this.#api = new ComputeApi(server, { ...DEFAULT_SETTINGS, ...settings });
    this.#periods = periods ?? DEFAULT_LISTING_PERIODS;
  }

  /** Makes one request for each VM. If a gang is refused, its VMs that were made stay, and are removed with their slice. */
  async create(plan: ComputeEnginePlan): Promise<CreateAnswer> {
    try {
      const requests = vmRequests(plan);
      return answerOfAll(
        await Promise.all(requests.map((request) => this.#insert(plan.ref, request).then(started, refused))),
      );
    } catch (error) {
      // The ownership or the labels do not fit into a request: nothing was sent.
      if (error instanceof RangeError) return { kind: 'refused', scope: 'request', message: error.message };
      throw error;
    }
  }

  /**
   * Creates one VM. An operation that is already done belongs to an earlier request with the same id: its VM exists (then the
   * name is taken), is gone, or failed. So the request is repeated under a new id.
   */
  async #insert(ref: ComputeEngineRef, { body, requestId }: VmRequest): Promise<ApiOperation> {
    const operation = await this.#api.insert(ref, body, requestId);
    return operation.status === 'DONE' ? this.#api.insert(ref, body, randomUUID()) : operation;
  }

  async observe({ ref, ownership, operation }: Claim<ComputeEngineRef>): Promise<Condition> {
    const found = await Promise.all(vmNames(ref).map((name) => this.#api.get(ref, name)));
    return this.#conditionOf(ref, ownership, found, operation);
  }

  async watch({ ref, ownership, operation }: Claim<ComputeEngineRef>, options: WatchOptions): Promise<Condition> {
    const listing = await this.#listerOf(ref, ownership.owner).next(options);
    const found = vmNames(ref).map((name) => listing.get(name));
    return this.#conditionOf(ref, ownership, found, operation);
  }

  /** Finds out why VMs are missing, unless the caller only deletes. */
  async #conditionOf(
    ref: ComputeEngineRef,
    ownership: Claim<ComputeEngineRef>['ownership'],
    found: readonly (ApiInstance | undefined)[],
    operation: string | undefined,
  ): Promise<Condition> {
    const names = vmNames(ref);
    const seen = found.map((instance, index): SeenVm => {
      const name = names[index] ?? '';
      return instance === undefined ? { name, kind: 'absent' } : { name, kind: 'present', instance };
    });
    const isDeleter = !('spec' in ownership);
    if (isDeleter || seen.every(({ kind }) => kind === 'present')) return conditionOf(seen, ownership);
    const creates = operation === undefined ? [] : (JSON.parse(operation) as readonly string[]);
    const explained = await Promise.all(
      seen.map(async (vm, index): Promise<SeenVm> => {
        const create = creates[index];
        if (vm.kind === 'present') return vm;
        // The create call's operation is unknown: its answer was lost, or the slice was adopted.
        const ended = await this.#ask(() =>
          create === undefined ? this.#api.insertOf(ref, vm.name) : this.#api.operation(ref, create),
        );
        if (ended === undefined) return vm;
        const failure = failureOf(ended);
        if (failure !== undefined) return { ...vm, failure };
        return ended.status === 'DONE' ? vm : { ...vm, isBeingMade: true };
      }),
    );
    const isUnexplained = (vm: SeenVm): boolean => vm.kind === 'absent' && !vm.failure && !vm.isBeingMade;
    if (!explained.some(isUnexplained)) return conditionOf(explained, ownership);
    const preempted = (await this.#ask(() => this.#api.preemptions(ref))) ?? [];
    const isPreempted = ({ name }: SeenVm): boolean =>
      preempted.some(({ targetLink }) => targetLink?.endsWith(`/${zonePath(ref)}/instances/${name}`));
    const final = explained.map((vm): SeenVm => {
      return vm.kind === 'absent' && isUnexplained(vm) && isPreempted(vm) ? { ...vm, isPreempted: true } : vm;
    });
    return conditionOf(final, ownership);
  }

  /** An account that may not read operations still sees the VMs: only the reason is missing. */
  async #ask<T>(call: () => Promise<T>): Promise<T | undefined> {
    return call().catch((error: unknown) => {
      if (error instanceof CloudRefused) return undefined;
      throw error;
    });
  }

  #listerOf(ref: ComputeEngineRef, owner: string): SharedLister<WatchOptions, ZoneListing> {
    if (this.#isClosed) throw new CloudUnavailable('the Compute Engine client was closed');
    const key = `${zonePath(ref)} ${owner}`;
    const { googleProject, zone } = ref;
    const lister =
      this.#listers.get(key) ??
      new SharedLister<WatchOptions, ZoneListing>(async () => {
        const instances = await this.#api.list({ googleProject, zone }, owner);
        return new Map(instances.map((instance) => [instance.name ?? '', instance]));
      }, this.#periods);
    this.#listers.set(key, lister);
    return lister;
  }

  /**
   * Deletes only VMs that the same call's reading has shown to be the owner's. The API has no precondition on deletes, so a VM
   * made under the name between reading and delete cannot be told apart (docs/adr/0044). A VM that is stopping is checked again
   * once it has stopped.
   */
  async remove(ref: ComputeEngineRef, { owner, job, run }: Owner): Promise<RemoveAnswer> {
    const names = vmNames(ref);
    let found: readonly (ApiInstance | undefined)[];
    try {
      found = await Promise.all(names.map((name) => this.#api.get(ref, name)));
    } catch (error) {
      const kind = error instanceof CloudUnavailable ? 'unanswered' : 'refused';
      return { kind, message: messageOf(error) };
    }
    const isOwn = ({ labels }: ApiInstance): boolean => {
      const ownership = ownershipFrom(labels);
      return ownership !== undefined && isOf(ownership, { owner, job, run });
    };
    const own = names.filter((_, index) => found[index] !== undefined && isOwn(found[index]));
    const foreign = names.find((_, index) => found[index] !== undefined && !isOwn(found[index]));
    const isGoing = (name: string): boolean => GOING.includes(found[names.indexOf(name)]?.status ?? '');
    const answers = await Promise.all(
      own.map(async (name): Promise<RemoveAnswer> => (isGoing(name) ? { kind: 'accepted' } : this.#delete(ref, name))),
    );
    if (foreign !== undefined) {
      const message = `${ref.name}: its VM ${foreign} is not of owner ${owner}, job ${job}, run ${run}`;
      return { kind: 'refused', message };
    }
    const undone = answers.find(({ kind }) => kind === 'refused' || kind === 'unanswered');
    if (undone) return undone;
    const operations = answers.flatMap((answer) => (answer.kind === 'accepted' ? [answer.operation] : []));
    if (operations.length === 0) return { kind: 'gone' };
    // If the deletion of one VM has no operation of ours, nothing can prove that all are gone.
    const isProvable = operations.length === answers.length && operations.every((name) => name !== undefined);
    if (!isProvable) return { kind: 'accepted' };
    const { googleProject, zone } = ref;
    return { kind: 'accepted', operation: JSON.stringify({ googleProject, zone, operations }) };
  }

  async #delete(ref: ComputeEngineRef, name: string): Promise<RemoveAnswer> {
    try {
      const operation = await this.#api.delete(ref, name);
      const failure = failureOf(operation);
      if (failure !== undefined) return { kind: 'unanswered', message: failure.message };
      return { kind: 'accepted', ...(operation.name !== undefined && { operation: operation.name }) };
    } catch (thrown) {
      const error = errorOf(thrown);
      if (error.httpStatus === 404 && error.message.includes(`/instances/${name}'`)) return { kind: 'gone' };
      // The VM is stopping or being deleted: the next look shows what is left.
      const isPassing = !isAnswer(error) || refusalScope(error) === 'moment';
      return isPassing
        ? { kind: 'unanswered', message: error.message }
        : { kind: 'refused', message: refusalText(error) };
    }
  }

  async removal(operation: string): Promise<'under way' | 'done' | 'unknown'> {
    const { operations, ...place } = JSON.parse(operation) as Removal;
    const found = await Promise.all(operations.map((name) => this.#api.operation(place, name)));
    if (found.some((each) => each === undefined || failureOf(each) !== undefined)) return 'unknown';
    return found.every((each) => each?.status === 'DONE') ? 'done' : 'under way';
  }

  async listOwned(
    googleProject: string,
    owner: string,
    onMissing?: OnMissing,
  ): Promise<readonly OwnedResource<ComputeEngineRef>[]> {
    const instances = await this.#api.listEverywhere(googleProject, owner, onMissing);
    return instances.flatMap(({ name, zone, labels }) => {
      const ownership = ownershipFrom(labels);
      if (ownership === undefined || ownership.owner !== owner || !name || !zone) return [];
      const vms = Number(labels?.[VMS_LABEL] ?? 1);
      const slice = { name: labels?.[SLICE_LABEL] ?? name, vms: Number.isInteger(vms) && vms > 0 ? vms : 1 };
      return [
        { ref: { kind: 'compute-engine', googleProject, zone: zone.split('/').at(-1) ?? '', ...slice }, ownership },
      ];
    });
  }

  /** Makes one call for each VM. A VM with guest attributes off reads like one that has written none. */
  async readGuestAttributes(ref: MachineRef): Promise<GuestAttributes> {
    if (ref.kind !== 'compute-engine') return { kind: 'read', hosts: [] };
    try {
      const answers = await Promise.all(vmNames(ref).map((name) => this.#api.guestAttributes(ref, name)));
      const names = vmNames(ref);
      const hosts = answers.map((answer, index) => {
        const items = answer?.queryValue?.items ?? [];
        const { hostKeys } = guestFacts({ queryValue: { items: [...items] } });
        return { hostKeys, hostname: names[index] ?? '' };
      });
      return { kind: 'read', hosts };
    } catch (error) {
      if (error instanceof CloudRefused) return { kind: 'disabled', message: error.message };
      throw error;
    }
  }

  /** Reads those of the first VM: all have the same. */
  async readNodeMetadata(ref: MachineRef): Promise<Readonly<Record<string, string>>> {
    const [first] = ref.kind === 'compute-engine' ? vmNames(ref) : [];
    if (ref.kind !== 'compute-engine' || first === undefined) return {};
    const items = (await this.#api.get(ref, first))?.metadata?.items ?? [];
    return Object.fromEntries(items.map(({ key, value = '' }) => [key, value]));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const lister of this.#listers.values()) lister.close('the Compute Engine client');
  }
}

/** States of a VM that a deletion or a preemption ends. */
const GOING: readonly string[] = ['STOPPING', 'DEPROVISIONING'];

interface Removal {
  readonly googleProject: string;
  readonly zone: string;
  readonly operations: readonly string[];
}

// Answers of create calls ---------------------------------------------------------------------------------------------

type VmAnswer = Exclude<CreateAnswer, { kind: 'accepted' }> | { readonly kind: 'accepted'; readonly operation: string };

function started(operation: ApiOperation): VmAnswer {
  const failure = failureOf(operation);
  if (failure !== undefined) return refusedBy(failure);
  return { kind: 'accepted', operation: operation.name ?? '' };
}

/** `refused` only if Google surely started nothing: every error that may be a lost answer is `unanswered`. */
function refused(thrown: unknown): VmAnswer {
  const error = errorOf(thrown);
  if (error.httpStatus === 409 && /already exists/i.test(error.message)) return { kind: 'exists' };
  return isAnswer(error) ? refusedBy(error) : { kind: 'unanswered', message: error.message };
}

const refusedBy = (failure: ComputeFailure): VmAnswer => ({
  kind: 'refused',
  scope: refusalScope(failure),
  message: refusalText(failure),
});

/**
 * Joins the answers of all VMs of a gang. A VM with an unknown result may still be created, so `unanswered` counts before a
 * refusal: the same requests are repeated until all are answered.
 */
function answerOfAll(answers: readonly VmAnswer[]): CreateAnswer {
  for (const kind of ['unanswered', 'refused', 'exists'] as const) {
    const found = answers.find((answer) => answer.kind === kind);
    if (found?.kind === 'refused' && answers.some((answer) => answer.kind !== 'refused'))
      return { ...found, isPartial: true };
    if (found !== undefined) return found;
  }
  const operations = answers.flatMap((answer) => (answer.kind === 'accepted' ? [answer.operation] : []));
  return { kind: 'accepted', operation: JSON.stringify(operations) };
}

/** Returns whether a failed call surely had no effect, because Google or the login refused it. */
function isAnswer(error: ComputeFailure): boolean {
  const { httpStatus, reason } = error;
  if (httpStatus === undefined) return reason !== undefined;
  return isRateLimit(error) || (httpStatus >= 400 && httpStatus < 500 && httpStatus !== 408);
}

/** @throws an error that is not a failed call */
function errorOf(thrown: unknown): ComputeFailure {
  if (thrown instanceof CallFailed) return thrown.error;
  return throwCloudError(thrown);
}
