import type { JsonObject } from '../json.js';
import { asObject, asString } from '../json.js';
import type { ProjectFacts } from '../project/facts.js';
import type { Actor } from '../timeline.js';
import type { Records } from '../tpu/records.js';
import { isGoogleZone } from '../tpu/zones.js';
import { draw } from '../tpu/settings.js';
import { isHeld } from '../tpu/state.js';
import { computeErrors, quotaExceeded, stockout } from './errors.js';
import { checkInstance, linkOf, makeInstance, quotaUse } from './instance.js';
import type { ComputeError, ComputeOperation, ComputeState, VmRecord, VmStatus } from './model.js';

/** Finished operations kept; older ones are forgotten, as the service forgets them. */
const KEPT_OPERATIONS = 500;

/**
 * Compute Engine's VMs as a state machine on plain JSON, beside Cloud TPU's nodes in one state, on one clock:
 *
 *   PROVISIONING -> STAGING -> RUNNING -> STOPPING -> TERMINATED, or gone
 *
 * A preemption goes the same way, with a notice to the VM while it is STOPPING. Verbs throw ApiError.
 */
export class ComputeCloud implements Actor {
  readonly #records: Records;
  readonly #facts: () => ProjectFacts;

  constructor(records: Records, facts: () => ProjectFacts) {
    this.#records = records;
    this.#facts = facts;
  }

  get state(): ComputeState {
    return this.#records.state.compute;
  }

  // The API ------------------------------------------------------------------------------------------------------------

  /** @param requestId if an earlier call had the same id, that call's operation is returned and nothing else happens */
  insert(project: string, zone: string, request: JsonObject, requestId: string | undefined): ComputeOperation {
    const place = `projects/${project}/zones/${zone}`;
    const before = Object.values(this.state.operations).find(
      (operation) => requestId !== undefined && operation['clientOperationId'] === requestId,
    );
    if (before !== undefined) return before;
    const { machineType } = checkInstance(request, project, zone, this.#facts().zones[zone]?.machineTypes);
    const path = `${place}/instances/${asString(request['name'])}`;
    if (this.state.vms[path] !== undefined) throw computeErrors.alreadyExists(path);
    const { now, context, state } = this.#records;
    const failure = this.#lack(project, zone, machineType, request);
    const [host] = this.#records.takeHosts(1);
    const address = host?.address ?? '';
    const id = this.#newId();
    const operation = this.#start('insert', path, id, requestId);
    this.state.vms[path] = {
      path,
      resource: makeInstance({ path, id, request, address, now }),
      host: { address, hostname: asString(request['name']) },
      machineType,
      isBooted: false,
      isToGo: false,
      dueAt: now + draw(state.settings.provisioningMs, context.random),
      failure,
      operations: [operation.name],
    };
    this.#note(this.vm(path), 'absent');
    return operation;
  }

  delete(path: string): ComputeOperation {
    const vm = this.vm(path);
    const operation = this.#start('delete', path, vm.resource.id);
    vm.operations = [...vm.operations, operation.name];
    const isOnItsWay = vm.isToGo && vm.resource.status === 'STOPPING';
    vm.isToGo = true;
    const { now, context, state } = this.#records;
    if (!isOnItsWay) this.#move(vm, 'STOPPING', now + draw(state.settings.deletingMs, context.random));
    return operation;
  }

  /** @throws ApiError if the VM does not exist */
  vm(path: string): VmRecord {
    const vm = this.state.vms[path];
    if (vm === undefined) throw computeErrors.notFound(path);
    return vm;
  }

  operation(name: string): ComputeOperation {
    const operation = this.state.operations[name];
    if (operation === undefined) throw computeErrors.notFound(name);
    return operation;
  }

  /** @param zone absent: all zones */
  vmsIn(project: string, zone?: string): readonly VmRecord[] {
    const prefix = zone === undefined ? `projects/${project}/zones/` : `projects/${project}/zones/${zone}/`;
    return Object.values(this.state.vms).filter(({ path }) => path.startsWith(prefix));
  }

  checkZone(zone: string): void {
    if (this.#facts().zones[zone] === undefined && !isGoogleZone(zone)) throw computeErrors.unknownZone(zone);
  }

  // Fault injection ----------------------------------------------------------------------------------------------------

  /** Accepts a create call whose operation fails at once. Nothing is created. */
  failInsert(path: string, error: ComputeError): ComputeOperation {
    const operation = this.#start('insert', path, this.#newId());
    this.#end([operation.name], error);
    // The operation as it began.
    return operation;
  }

  /**
   * The provider preempts the VM. It is STOPPING for `noticeMs`, while its metadata says so and its system shuts down. Then it is
   * TERMINATED, or deleted if its `instanceTerminationAction` is DELETE. With `noticeMs` 0 that happens at once, without notice.
   */
  preempt(vm: VmRecord, noticeMs: number): void {
    const { now, context } = this.#records;
    const name = `systemevent-${now}-${context.random.hex(13)}-${context.random.hex(8)}-${context.random.hex(8)}`;
    const operation = this.#start('compute.instances.preempted', vm.path, vm.resource.id, undefined, name);
    this.#end([operation.name]);
    vm.isToGo = vm.isToGo || asObject(vm.resource['scheduling'])['instanceTerminationAction'] === 'DELETE';
    if (noticeMs > 0) {
      vm.notice = { kind: 'preemption', at: now, until: now + noticeMs };
      vm.power = 'stopping';
    }
    this.#move(vm, 'STOPPING', now + noticeMs);
    this.act();
  }

  /** Sets any status. Only another `force`, a preemption or a deletion ends it. */
  force(vm: VmRecord, status: VmStatus): void {
    this.#move(vm, status, undefined);
  }

  /** Notes that the VM's SSH answers. Ignored if another VM has the path by now. */
  markBooted(path: string, id: string): void {
    const vm = this.state.vms[path];
    if (vm?.resource.id !== id) return;
    vm.isBooted = true;
    this.act();
  }

  markBootFailed(path: string, id: string, error: Error): void {
    const vm = this.state.vms[path];
    if (vm?.resource.id !== id) return;
    this.#remove(vm, { code: 'INTERNAL_ERROR', message: `Internal error: ${error.message}` });
  }

  // Time ---------------------------------------------------------------------------------------------------------------

  isActive(): boolean {
    return Object.keys(this.state.vms).length > 0;
  }

  nextDue(): number | undefined {
    const times = Object.values(this.state.vms).flatMap((vm) => (this.#isStuck(vm) ? [] : (vm.dueAt ?? [])));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  act(): void {
    for (const vm of Object.values(this.state.vms)) {
      if (vm.dueAt !== undefined && vm.dueAt <= this.#records.now && !this.#isStuck(vm)) this.#leave(vm);
    }
  }

  /** Whether the VM waits for something other than time. */
  #isStuck({ resource, isBooted, path }: VmRecord): boolean {
    return (resource.status === 'STAGING' && !isBooted) || isHeld(this.#records.state, resource.status, path);
  }

  #leave(vm: VmRecord): void {
    switch (vm.resource.status) {
      case 'PROVISIONING':
        if (vm.failure !== undefined) this.#remove(vm, vm.failure);
        else this.#move(vm, 'STAGING', this.#records.now);
        return;
      case 'STAGING':
        this.#move(vm, 'RUNNING', undefined);
        this.#endOf(vm);
        return;
      case 'STOPPING':
        if (vm.isToGo) {
          this.#remove(vm);
          return;
        }
        vm.notice = undefined;
        vm.power = undefined;
        this.#move(vm, 'TERMINATED', undefined);
        this.#endOf(vm);
        return;
      default:
        vm.dueAt = undefined;
    }
  }

  // Changes ------------------------------------------------------------------------------------------------------------

  #move(vm: VmRecord, status: VmStatus, dueAt: number | undefined): void {
    const from = vm.resource.status;
    vm.resource = { ...vm.resource, status };
    vm.dueAt = dueAt;
    if (status === 'TERMINATED') vm.isBooted = false;
    this.#note(vm, from);
  }

  #remove(vm: VmRecord, error?: ComputeError): void {
    delete this.state.vms[vm.path];
    this.#records.freeHosts([vm.host]);
    this.#endOf(vm, error);
    const { status, id } = vm.resource;
    this.#records.context.record('vm-state', vm.path, { from: status, to: 'gone', id, ...(error && { error }) });
  }

  #note(vm: VmRecord, from: string): void {
    const { status, id } = vm.resource;
    this.#records.context.record('vm-state', vm.path, { from, to: status, id, resource: vm.resource });
  }

  #start(operationType: string, path: string, targetId: string, requestId?: string, named?: string): ComputeOperation {
    const { now, context } = this.#records;
    const name =
      named ?? `operation-${now}-${context.random.hex(13)}-${context.random.hex(8)}-${context.random.hex(8)}`;
    const place = path.split('/').slice(0, 4).join('/');
    const at = new Date(now).toISOString();
    const full = `${place}/operations/${name}`;
    const operation: ComputeOperation = {
      kind: 'compute#operation',
      id: this.#newId(),
      name,
      operationType,
      targetLink: linkOf(path),
      targetId,
      status: 'RUNNING',
      progress: 0,
      user: 'rehearsal@example.com',
      insertTime: at,
      startTime: at,
      zone: linkOf(place),
      selfLink: linkOf(full),
      ...(requestId !== undefined && { clientOperationId: requestId }),
    };
    this.state.operations[full] = operation;
    return operation;
  }

  #endOf(vm: VmRecord, error?: ComputeError): void {
    const place = vm.path.split('/').slice(0, 4).join('/');
    this.#end(vm.operations, error, place);
    vm.operations = [];
  }

  #end(names: readonly string[], error?: ComputeError, place?: string): void {
    const endTime = new Date(this.#records.now).toISOString();
    for (const [full, operation] of Object.entries(this.state.operations)) {
      if (operation.status === 'DONE' || !names.includes(operation.name)) continue;
      if (place !== undefined && !full.startsWith(place)) continue;
      this.state.operations[full] = {
        ...operation,
        status: 'DONE',
        progress: 100,
        endTime,
        ...(error !== undefined && {
          error: { errors: [{ code: error.code, message: error.message }] },
          httpErrorStatusCode: error.code === 'QUOTA_EXCEEDED' ? 403 : 503,
          httpErrorMessage: error.code === 'QUOTA_EXCEEDED' ? 'FORBIDDEN' : 'SERVICE UNAVAILABLE',
        }),
      };
    }
    const done = Object.entries(this.state.operations).filter(([, { status }]) => status === 'DONE');
    for (const [full] of done.slice(0, Math.max(0, done.length - KEPT_OPERATIONS))) delete this.state.operations[full];
  }

  /** The error of a create, if any: first capacity of the machine type in the zone, then quota of the region. */
  #lack(project: string, zone: string, machineType: string, request: JsonObject): ComputeError | undefined {
    const { settings } = this.#records.state;
    const limit = settings.capacity[`${zone}/${machineType}`];
    const holds = ({ resource, failure }: VmRecord): boolean =>
      resource.status !== 'TERMINATED' && failure === undefined;
    const inZone = Object.values(this.state.vms).filter(
      (vm) => holds(vm) && vm.path.includes(`/zones/${zone}/`) && vm.machineType === machineType,
    );
    if (limit !== undefined && inZone.length >= limit) return stockout(project, zone, machineType);
    const region = zone.replace(/-[a-z]$/, '');
    const quotas = { ...this.#facts().regionQuotas['any'], ...this.#facts().regionQuotas[region] };
    for (const [metric, count] of Object.entries(quotaUse(request, machineType))) {
      const quota = quotas[metric];
      if (quota === undefined || count === 0) continue;
      const isGlobal = metric.endsWith('_ALL_REGIONS');
      const mine = this.vmsIn(project).filter((vm) => holds(vm) && (isGlobal || vm.path.includes(`/zones/${region}-`)));
      const used = mine.reduce((sum, vm) => sum + (quotaUse(vm.resource, vm.machineType)[metric] ?? 0), quota.usage);
      if (used + count > quota.limit) return quotaExceeded(metric, quota.limit, isGlobal ? undefined : region);
    }
    return undefined;
  }

  /** A number of 19 digits, as Google's ids are. */
  #newId(): string {
    return String((BigInt(`0x${this.#records.context.random.hex(16)}`) >> 2n) + 1_000_000_000_000_000_000n);
  }
}
