import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { NodeRecord } from './tpu/model.js';
import type { Vm } from './vm/index.js';
import { killLeftover, startVm } from './vm/index.js';

/** VMs booted at the same time. */
const BOOT_WIDTH = 16;

export interface FleetHooks {
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  readonly booted: (nodeName: string, nodeId: string) => void;
  readonly failed: (nodeName: string, nodeId: string, error: Error) => void;
}

/** What is the same for every VM. */
export interface FleetPlace {
  readonly sshPort: number;
  /** Of the Cloud Storage that VMs reach. */
  readonly storeUrl: string;
}

interface Slice {
  readonly name: string;
  readonly nodeId: string;
  /** By index; holes while the slice boots. */
  readonly vms: Vm[];
  booting: Promise<void>;
  killing: Promise<void> | undefined;
}

/**
 * The TPU VMs of all live nodes. `reconcile` is told which nodes there are, whenever that may have changed, and makes
 * the VMs follow: booted or adopted while a node is CREATING or READY, dead at once when it is neither, their disks gone
 * with the node.
 */
export class Fleet {
  readonly #folder: string;
  readonly #place: FleetPlace;
  readonly #hooks: FleetHooks;
  readonly #background = new Set<Promise<void>>();
  /** By node id. */
  readonly #slices = new Map<string, Slice>();
  #isStopping = false;

  constructor(folder: string, place: FleetPlace, hooks: FleetHooks) {
    this.#folder = folder;
    this.#place = place;
    this.#hooks = hooks;
    mkdirSync(folder, { recursive: true });
  }

  /** Ends VMs of nodes that are no more: their rehearsal process was killed before it could. */
  async sweep(nodes: readonly NodeRecord[]): Promise<void> {
    const live = new Set(nodes.filter(isLive).map((node) => node.resource.id));
    const known = new Set(nodes.map((node) => node.resource.id));
    for (const nodeId of readdirSync(this.#folder)) {
      if (live.has(nodeId)) continue;
      const hosts = readdirSync(join(this.#folder, nodeId));
      await Promise.all(hosts.map((host) => killLeftover(join(this.#folder, nodeId, host))));
      if (!known.has(nodeId)) await this.#removeDisks(nodeId);
    }
  }

  reconcile(nodes: readonly NodeRecord[]): void {
    if (this.#isStopping) return;
    const byId = new Map(nodes.map((node) => [node.resource.id, node]));
    for (const slice of this.#slices.values()) {
      const node = byId.get(slice.nodeId);
      if (node === undefined || !isLive(node)) this.#inBackground(slice, this.#kill(slice));
      if (node === undefined) this.#inBackground(slice, this.#forget(slice));
    }
    for (const node of nodes) {
      if (isLive(node) && !this.#slices.has(node.resource.id)) this.#boot(node);
    }
  }

  /** Resolves when every slice that is booting has booted or failed. */
  async settled(): Promise<void> {
    await Promise.all([...this.#slices.values()].map((slice) => slice.booting));
  }

  vmsOf(nodeName: string): readonly Vm[] {
    const slices = [...this.#slices.values()].filter((slice) => slice.name === nodeName && slice.killing === undefined);
    return slices.at(-1)?.vms ?? [];
  }

  /** Kills every VM; disks stay. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([...this.#slices.values()].map((slice) => this.#kill(slice)));
    await Promise.all(this.#background);
  }

  /** Work that nobody waits for but `stop`. What fails in it is a VM's trouble, not the cloud's end. */
  #inBackground(slice: Slice, work: Promise<void>): void {
    const quiet = work.catch((error: unknown) => {
      this.#hooks.record('vm-failure', slice.name, { error: String(error), nodeId: slice.nodeId });
    });
    this.#background.add(quiet);
    void quiet.finally(() => this.#background.delete(quiet));
  }

  #boot(node: NodeRecord): void {
    const { name, id: nodeId } = node.resource;
    const slice: Slice = { name, nodeId, vms: [], booting: Promise.resolve(), killing: undefined };
    this.#slices.set(nodeId, slice);
    slice.booting = this.#bootHosts(slice, node).then(
      () => {
        if (slice.killing === undefined) this.#hooks.booted(name, nodeId);
      },
      (error: unknown) => {
        this.#hooks.failed(name, nodeId, error instanceof Error ? error : new Error(String(error)));
      },
    );
  }

  async #bootHosts(slice: Slice, node: NodeRecord): Promise<void> {
    const waiting = [...node.hosts.keys()];
    const bootNext = async (): Promise<void> => {
      for (let index = waiting.shift(); index !== undefined; index = waiting.shift()) {
        if (slice.killing !== undefined) return;
        slice.vms[index] = await this.#bootHost(node, index);
      }
    };
    // All are waited for, so that one that fails leaves none behind that nobody knows.
    const results = await Promise.allSettled(Array.from({ length: BOOT_WIDTH }, bootNext));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #bootHost(node: NodeRecord, index: number): Promise<Vm> {
    const host = node.hosts[index];
    if (host === undefined)
      throw new RangeError(`${node.resource.name} has ${node.hosts.length} hosts, no host ${index}`);
    const metadata = node.resource['metadata'] as Readonly<Record<string, string>> | undefined;
    const vm = await startVm({
      dir: join(this.#folder, node.resource.id, `w${index}`),
      address: host.address,
      sshPort: this.#place.sshPort,
      hostname: host.hostname,
      authorizedKeys: metadata?.['ssh-keys'] ?? '',
      slice: node.hosts,
      // The variable that users of an emulator of Cloud Storage set: Google's client libraries then go there, without a token.
      environment: { TPU_WORKER_ID: String(index), STORAGE_EMULATOR_HOST: this.#place.storeUrl },
    });
    const details = { host: index, address: host.address, isAdopted: vm.isAdopted, init: vm.initPid };
    this.#hooks.record('vm-start', node.resource.name, details);
    return vm;
  }

  #kill(slice: Slice): Promise<void> {
    slice.killing ??= this.#killVms(slice);
    return slice.killing;
  }

  async #killVms(slice: Slice): Promise<void> {
    const killed = new Set(slice.vms);
    await Promise.all(slice.vms.map((vm) => vm.kill()));
    // Those that were still booting.
    await slice.booting;
    await Promise.all(slice.vms.filter((vm) => !killed.has(vm)).map((vm) => vm.kill()));
    this.#hooks.record('vm-kill', slice.name, { hosts: slice.vms.length, nodeId: slice.nodeId });
  }

  async #forget(slice: Slice): Promise<void> {
    this.#slices.delete(slice.nodeId);
    await slice.killing;
    await this.#removeDisks(slice.nodeId);
  }

  async #removeDisks(nodeId: string): Promise<void> {
    const folder = join(this.#folder, nodeId);
    if (existsSync(folder)) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function isLive(node: NodeRecord): boolean {
  return node.resource.state === 'CREATING' || node.resource.state === 'READY';
}
