import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from './folders.js';
import type { ProjectMetadata } from './fleet-metadata.js';
import { instanceFacts, nodeMetadata } from './fleet-metadata.js';
import type { NodeRecord, NodeState } from './tpu/model.js';
import { zoneOf } from './tpu/resource-name.js';
import type { SshAtShutdown } from './tpu/settings.js';
import { keyLines } from './vm/authorized-keys.js';
import type { DetectedConfinement } from './vm/confinement.js';
import { detectConfinement } from './vm/confinement.js';
import { removeDisks } from './vm/disks.js';
import type { Vm, VmPlan } from './vm/index.js';
import { killLeftover, startVm } from './vm/index.js';
import { metadataTree } from './vm/metadata/instance.js';
import { MetadataService } from './vm/metadata/server.js';
import { toolEnvironment, toolsFolder } from './vm/tools/install.js';

/** VMs booted at the same time. */
const BOOT_WIDTH = 16;

export interface FleetHooks {
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  readonly booted: (nodeName: string, nodeId: string) => void;
  readonly failed: (nodeName: string, nodeId: string, error: Error) => void;
}

/** Settings that all VMs share. */
export interface FleetPlace {
  readonly sshPort: number;
  /** URL of the Cloud Storage that VMs reach. */
  readonly storeUrl: string;
  /** URL of Cloud TPU over REST; undefined until Cloud TPU listens. */
  readonly restUrl?: () => string | undefined;
  readonly surroundings?: FleetSurroundings | undefined;
  /** The cloud's time, epoch ms. Absent: this computer's time. */
  readonly now?: (() => number) | undefined;
  /** State of SSH while a VM shuts down. */
  readonly sshAtShutdown?: (() => SshAtShutdown) | undefined;
}

/** The parts of the cloud that VMs see. */
export interface FleetSurroundings {
  readonly project: () => ProjectMetadata;
  /** Access token of a VM's service account, as Google's metadata server returns it; undefined if the account does not exist. */
  readonly token: (email: string) => object | undefined;
}

/** Without authentication any token is accepted. */
const DEFAULT_SURROUNDINGS: FleetSurroundings = {
  project: () => ({ number: '123456789012', metadata: {} }),
  token: () => ({ access_token: 'ya29.rehearsed-vm', expires_in: 3599, token_type: 'Bearer' }),
};

/** States in which a node's VMs run. In REPAIRING they run but do not answer. */
const LIVE: ReadonlySet<NodeState> = new Set(['CREATING', 'READY', 'STARTING', 'REPAIRING']);

interface Slice {
  readonly name: string;
  readonly nodeId: string;
  readonly addresses: readonly string[];
  /** Indexed by host; has holes while the slice boots. */
  readonly vms: Vm[];
  booting: Promise<void>;
  killing: Promise<void> | undefined;
  isSilent: boolean;
  /** Power state that the slice's VMs were last told. */
  power: NodeRecord['power'];
}

/**
 * The TPU VMs of all live nodes. `reconcile` gets the present nodes whenever they may have changed, and makes the VMs follow. In
 * live states VMs are booted, or adopted if they run already; in other states they are killed at once. A stopped node that starts
 * again gets its old disks. Disks are deleted with the node.
 */
export class Fleet {
  readonly #folder: string;
  readonly #place: FleetPlace;
  readonly #surroundings: FleetSurroundings;
  readonly #metadata = new MetadataService();
  readonly #dying = new Set<Slice>();
  readonly #hooks: FleetHooks;
  readonly #background = new Set<Promise<void>>();
  /** Keyed by node id. */
  readonly #slices = new Map<string, Slice>();
  /** Keyed by node id, as last passed to `reconcile`. */
  #nodes: ReadonlyMap<string, NodeRecord> = new Map();
  #isStopping = false;

  constructor(folder: string, place: FleetPlace, hooks: FleetHooks) {
    this.#folder = folder;
    this.#place = place;
    this.#surroundings = place.surroundings ?? DEFAULT_SURROUNDINGS;
    this.#hooks = hooks;
    makeFolderSync(folder);
  }

  /** The mechanism that keeps the VMs away from this computer's files, given the folder of their disks. */
  get confinement(): DetectedConfinement {
    return detectConfinement(this.#folder);
  }

  /** Kills VMs of nodes that are no longer live and removes disks of deleted nodes, left by a rehearsal that was killed. */
  async sweep(nodes: readonly NodeRecord[]): Promise<void> {
    const live = new Set(nodes.filter(isLive).map((node) => node.resource.id));
    const known = new Set(nodes.map((node) => node.resource.id));
    for (const nodeId of readdirSync(this.#folder).filter((entry) => /^\d+$/.test(entry))) {
      if (live.has(nodeId)) continue;
      const hosts = readdirSync(join(this.#folder, nodeId));
      await Promise.all(hosts.map((host) => killLeftover(join(this.#folder, nodeId, host))));
      if (!known.has(nodeId)) await removeDisks(join(this.#folder, nodeId));
    }
  }

  reconcile(nodes: readonly NodeRecord[]): void {
    if (this.#isStopping) return;
    this.#nodes = new Map(nodes.map((node) => [node.resource.id, node]));
    for (const slice of this.#slices.values()) {
      const node = this.#nodes.get(slice.nodeId);
      const isOver = node === undefined || !isLive(node);
      if (isOver && slice.killing === undefined) this.#inBackground(slice, this.#kill(slice));
      if (node === undefined) this.#inBackground(slice, this.#forget(slice));
    }
    for (const node of nodes) {
      const slice = this.#slices.get(node.resource.id);
      if (isLive(node) && slice?.killing !== undefined) this.#boot(node, slice.killing);
      else if (isLive(node) && slice === undefined) this.#boot(node);
      else if (slice !== undefined) setSilent(slice, node.resource.state === 'REPAIRING');
    }
    this.#metadata.changed();
    for (const node of nodes) this.#setPower(this.#slices.get(node.resource.id), node.power);
  }

  /** Resolves when every booting slice has booted or failed. */
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

  /** Tracks work that only `stop` waits for. A failure in it is recorded as the VM's and does not end the cloud. */
  #inBackground(slice: Slice, work: Promise<void>): void {
    const quiet = work.catch((error: unknown) => {
      this.#hooks.record('vm-failure', slice.name, { error: String(error), nodeId: slice.nodeId });
    });
    this.#background.add(quiet);
    void quiet.finally(() => this.#background.delete(quiet));
  }

  /** @param after resolves when the previous VMs on the same disks are dead */
  #boot(node: NodeRecord, after?: Promise<void>): void {
    const { name, id: nodeId, state } = node.resource;
    const isSilent = state === 'REPAIRING';
    const slice: Slice = {
      name,
      nodeId,
      addresses: node.hosts.map(({ address }) => address),
      vms: [],
      booting: Promise.resolve(),
      killing: undefined,
      isSilent,
      power: undefined,
    };
    this.#slices.set(nodeId, slice);
    const settled = after?.catch(() => undefined) ?? Promise.resolve();
    slice.booting = settled
      .then(() => this.#bootHosts(slice, node))
      .then(
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
    // Waits for all, so that a failure leaves no VM behind untracked.
    const results = await Promise.allSettled(Array.from({ length: BOOT_WIDTH }, bootNext));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #bootHost(node: NodeRecord, index: number): Promise<Vm> {
    const host = node.hosts[index];
    if (host === undefined)
      throw new RangeError(`${node.resource.name} has ${node.hosts.length} hosts, no host ${index}`);
    // Slices being killed may still hold the address that this host was given.
    const before = [...this.#dying].filter(({ addresses }) => addresses.includes(host.address));
    await Promise.allSettled(before.map(async ({ killing }) => killing));
    const vm = await startVm(this.#plan(node, index, host));
    const details = { host: index, address: host.address, isAdopted: vm.isAdopted, init: vm.initPid };
    this.#hooks.record('vm-start', node.resource.name, details);
    if (this.#slices.get(node.resource.id)?.isSilent === true) vm.setReachable(false);
    return vm;
  }

  #plan(node: NodeRecord, index: number, host: NodeRecord['hosts'][number]): VmPlan {
    const { id, name } = node.resource;
    // Read at call time: metadata changes while the VM runs.
    const now = (): NodeRecord => this.#nodes.get(id) ?? node;
    const { project, token } = this.#surroundings;
    const { storeUrl } = this.#place;
    const facts = () => instanceFacts(now(), index, project(), this.#nodes.values());
    return {
      dir: join(this.#folder, id, `w${index}`),
      address: host.address,
      sshPort: this.#place.sshPort,
      hostname: host.hostname,
      authorizedKeys: () => keyLines({ node: nodeMetadata(now()), project: project().metadata }),
      slice: node.hosts,
      // Users of a Cloud Storage emulator set this variable: Google's client libraries then go there, without a token.
      environment: {
        ...(node.resource['machineType'] === undefined && { TPU_WORKER_ID: String(index) }),
        STORAGE_EMULATOR_HOST: storeUrl,
        ...toolEnvironment({
          storeUrl,
          restUrl: this.#place.restUrl?.(),
          project: name.split('/')[1] ?? '',
          zone: zoneOf(name),
        }),
      },
      tools: toolsFolder(),
      startupScript: nodeMetadata(node)['startup-script'],
      metadata: {
        service: this.#metadata,
        source: { tree: () => metadataTree(facts()), token: () => token(facts().serviceAccount?.email ?? '') },
      },
      confinement: this.confinement.kind,
      now: this.#place.now ?? Date.now,
      record: (kind, details) => this.#hooks.record(kind, name, { host: index, ...details }),
    };
  }

  /** Shuts the VMs down, or cuts their power, while the API still reports the node as running. */
  #setPower(slice: Slice | undefined, power: NodeRecord['power']): void {
    if (slice === undefined || slice.power === power || slice.killing !== undefined) return;
    slice.power = power;
    const ssh = this.#place.sshAtShutdown?.() ?? 'open';
    for (const vm of slice.vms) {
      if (power === 'stopping') vm?.shutDown(ssh);
      else if (power === 'off') this.#inBackground(slice, vm?.cutPower(ssh) ?? Promise.resolve());
    }
    if (power !== undefined) this.#hooks.record('vm-power', slice.name, { power, ssh, nodeId: slice.nodeId });
  }

  #kill(slice: Slice): Promise<void> {
    if (slice.killing !== undefined) return slice.killing;
    slice.killing = this.#killVms(slice).finally(() => this.#dying.delete(slice));
    this.#dying.add(slice);
    return slice.killing;
  }

  async #killVms(slice: Slice): Promise<void> {
    const killed = new Set(slice.vms);
    await Promise.all(slice.vms.map((vm) => vm.kill()));
    // VMs that were still booting.
    await slice.booting;
    await Promise.all(slice.vms.filter((vm) => !killed.has(vm)).map((vm) => vm.kill()));
    this.#hooks.record('vm-kill', slice.name, { hosts: slice.vms.length, nodeId: slice.nodeId });
  }

  async #forget(slice: Slice): Promise<void> {
    this.#slices.delete(slice.nodeId);
    await slice.killing;
    await removeDisks(join(this.#folder, slice.nodeId));
  }
}

function isLive(node: NodeRecord): boolean {
  return LIVE.has(node.resource.state);
}

/** Makes the whole slice unreachable or reachable. Admin calls do the same for single hosts. */
function setSilent(slice: Slice, isSilent: boolean): void {
  if (slice.isSilent === isSilent) return;
  slice.isSilent = isSilent;
  for (const vm of slice.vms) vm?.setReachable(!isSilent);
}
