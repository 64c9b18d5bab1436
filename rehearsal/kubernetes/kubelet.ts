import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import type { DetectedConfinement } from '../vm/confinement.js';
import type { ContainerEnd, RunningContainer } from '../vm/container.js';
import { findContainer, startContainer } from '../vm/container.js';
import { removeDisks } from '../vm/disks.js';
import { putOrRemove } from './deletion.js';
import type { Events } from './events.js';
import type { Pod, PodStatus } from './objects.js';
import { isOver, isTrue } from './objects.js';
import type { ObjectStore } from './object-store.js';
import type { PodAddresses } from './pod-addresses.js';
import { commandsOf } from './images.js';
import { ConfigFailure, containerEnvironment } from './pod-environment.js';
import { endedStatus, readinessStatus, runningStatus, waitingStatus } from './pod-status.js';
import { lastWords } from './last-words.js';
import { MountFailure, mountsOf } from './pod-volumes.js';
import { probeReadiness } from './readiness.js';
import { PODS } from './resources.js';

export interface KubeletPlace {
  /** Folders of pods, and of data that outlives them. */
  readonly folder: string;
  readonly confinement: DetectedConfinement;
  /** Environment of every container. */
  readonly environment: Readonly<Record<string, string>>;
  readonly addresses: PodAddresses;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
}

interface PodRun {
  container?: RunningContainer;
  isStarting: boolean;
  environment?: Readonly<Record<string, string>>;
  endProbe?: () => void;
  /** When a deleted pod's processes are killed, epoch ms. */
  killAt?: number;
  killer?: NodeJS.Timeout;
}

/** The distribution specification's pattern, with the lower case that the kubelet insists on. */
const IMAGE =
  /^([a-zA-Z0-9][\w.-]*(:\d+)?\/)?[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*(:\w[\w.-]{0,127})?(@sha256:[0-9a-f]{64})?$/;

/**
 * The kubelets of all rehearsed nodes. A container's processes run like those of a rehearsed TPU VM, in a separate root and
 * separate namespaces over this computer's system; the image is only a name. Processes of a rehearsal that was killed go on, and
 * are found again.
 */
export class Kubelet {
  readonly #store: ObjectStore;
  readonly #events: Events;
  readonly #place: KubeletPlace;
  /** Keyed by uid. */
  readonly #runs = new Map<string, PodRun>();
  readonly #removals = new Set<Promise<void>>();
  #isStopping = false;

  constructor(store: ObjectStore, events: Events, place: KubeletPlace) {
    [this.#store, this.#events, this.#place] = [store, events, place];
    makeFolderSync(join(place.folder, 'pods'));
  }

  folderOf({ metadata }: Pod): string {
    return join(this.#place.folder, 'pods', metadata.uid);
  }

  containerOf({ metadata }: Pod): RunningContainer | undefined {
    return this.#runs.get(metadata.uid)?.container;
  }

  /** Environment of the pod's container since its start; commands that run in it get the same. @throws ConfigFailure */
  environmentOf(pod: Pod): Readonly<Record<string, string>> {
    const known = this.#runs.get(pod.metadata.uid)?.environment;
    return known ?? containerEnvironment(this.#store, pod, this.#place.environment);
  }

  /** Finds the containers of pods that are recorded as running, and ends containers of deleted pods. */
  adopt(): void {
    const known = new Set<string>();
    for (const pod of this.#store.list<Pod>(PODS)) {
      known.add(pod.metadata.uid);
      if (pod.status.phase !== 'Running') continue;
      const found = findContainer(this.folderOf(pod));
      if (found !== undefined && 'ended' in found) this.#watch(pod, found);
      else this.#ended(pod.metadata, found?.end);
    }
    for (const uid of readdirSync(join(this.#place.folder, 'pods'))) {
      if (known.has(uid)) continue;
      const found = findContainer(join(this.#place.folder, 'pods', uid));
      if (found !== undefined && 'ended' in found) found.signal('SIGKILL');
      this.#remove(uid);
    }
  }

  sync(): void {
    const pods = this.#store.list<Pod>(PODS);
    const uids = new Set(pods.map(({ metadata }) => metadata.uid));
    for (const [uid, run] of this.#runs) if (!uids.has(uid)) this.#forget(uid, run);
    if (this.#isStopping) return;
    for (const pod of pods) {
      const run = this.#runs.get(pod.metadata.uid);
      if (pod.metadata.deletionTimestamp !== undefined) this.#end(pod, run);
      else if (pod.spec.nodeName !== undefined && pod.status.phase === 'Pending' && run === undefined) this.#start(pod);
    }
  }

  /** Kills every container and resolves when all are gone. Their files are kept. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { endProbe } of this.#runs.values()) endProbe?.();
    const containers = [...this.#runs.values()].flatMap(({ container }) => container ?? []);
    for (const container of containers) container.signal('SIGKILL');
    await Promise.all(containers.map(({ ended }) => ended));
    await Promise.allSettled(this.#removals);
  }

  // Start --------------------------------------------------------------------------------------------------------------

  #start(pod: Pod): void {
    const [main] = pod.spec.containers;
    if (main === undefined) return;
    if (!IMAGE.test(main.image)) {
      const message = `Failed to apply default image tag "${main.image}": couldn't parse image name "${main.image}": ${whyNoImage(main.image)}`;
      return this.#wait(pod, 'InvalidImageName', message, 'InspectFailed');
    }
    if (this.#place.confinement.kind === 'none') return this.#refuse(pod, NO_ROOT + this.#place.confinement.reason);
    let volumes, environment;
    try {
      volumes = mountsOf(this.#store, pod, { pod: this.folderOf(pod), lasting: this.#place.folder });
      environment = this.environmentOf(pod);
    } catch (error) {
      if (error instanceof ConfigFailure)
        return this.#wait(pod, 'CreateContainerConfigError', error.message, 'Failed', `Error: ${error.message}`);
      if (!(error instanceof MountFailure)) throw error;
      return this.#wait(pod, 'ContainerCreating', undefined, 'FailedMount', error.message);
    }
    if (pod.status.containerStatuses === undefined) return this.#put(pod, waitingStatus(pod, 'ContainerCreating'));
    const address = this.#place.addresses.of(pod);
    const { hostname, hosts } = this.#place.addresses.namesOf(pod);
    const run: PodRun = { isStarting: true, environment };
    this.#runs.set(pod.metadata.uid, run);
    const starting = startContainer({
      ...{ folder: this.folderOf(pod), root: this.#place.confinement.kind, hostname, hosts, volumes },
      command: [...(main.command ?? ['/bin/sh']), ...(main.args ?? [])],
      tools: commandsOf(main.image),
      environment,
      workingDir: main.workingDir ?? '/',
    });
    starting.then(
      (container) => {
        run.isStarting = false;
        const current = this.#current(pod);
        if (this.#isStopping || current === undefined) {
          container.signal('SIGKILL');
          void container.ended.then(() => this.#forget(pod.metadata.uid, run));
          return;
        }
        this.#put(current, runningStatus(current, address));
        this.#watch(current, container);
      },
      (error: unknown) => {
        run.isStarting = false;
        this.#refuse(pod, error instanceof Error ? error.message : String(error));
      },
    );
  }

  /** Records that the container cannot start yet. The kubelet tries again. */
  #wait(pod: Pod, waiting: string, detail: string | undefined, reason: string, message = detail ?? ''): void {
    const status = waitingStatus(pod, waiting, detail);
    const before = pod.status.containerStatuses?.[0]?.state.waiting;
    if (before?.reason !== waiting || before.message !== detail) this.#put(pod, status);
    this.#events.tell(PODS, pod, { type: 'Warning', reason, message, source: 'kubelet' });
  }

  #refuse(pod: Pod, message: string): void {
    const current = this.#current(pod);
    if (current === undefined) return;
    this.#put(current, endedStatus(current, { exitCode: 128, reason: 'StartError', message }));
    this.#events.tell(PODS, current, { type: 'Warning', reason: 'Failed', message, source: 'kubelet' });
  }

  #watch(pod: Pod, container: RunningContainer): void {
    const run = this.#runs.get(pod.metadata.uid) ?? { isStarting: false };
    run.container = container;
    this.#runs.set(pod.metadata.uid, run);
    this.#probe(pod, container, run);
    void container.ended.then((end) => {
      clearTimeout(run.killer);
      run.endProbe?.();
      delete run.container;
      if (!this.#isStopping) this.#ended(pod.metadata, end);
    });
  }

  #probe(pod: Pod, container: RunningContainer, run: PodRun): void {
    const probe = pod.spec.containers[0]?.readinessProbe;
    if (probe?.exec === undefined) return;
    run.endProbe = probeReadiness(container, probe, this.environmentOf(pod), ({ isReady, failure }) => {
      const current = this.#current(pod);
      if (current?.status.phase !== 'Running') return;
      if (isTrue(current.status.conditions, 'Ready') !== isReady) this.#put(current, readinessStatus(current, isReady));
      const message = `Readiness probe failed: ${failure}`;
      if (failure !== undefined)
        this.#events.tell(PODS, current, { type: 'Warning', reason: 'Unhealthy', message, source: 'kubelet' });
    });
  }

  // End ----------------------------------------------------------------------------------------------------------------

  #ended(metadata: Pod['metadata'], end: ContainerEnd): void {
    const pod = this.#current({ metadata });
    if (pod === undefined || isOver(pod)) return;
    const ending = end === undefined ? LOST : { exitCode: end, message: lastWords(this.folderOf(pod), pod, end) };
    this.#put(pod, endedStatus(pod, ending));
  }

  /** Sends TERM, waits for the grace period, sends KILL; then the object is removed. */
  #end(pod: Pod, run: PodRun | undefined): void {
    if (run?.isStarting === true) return;
    const { container } = run ?? {};
    if (run === undefined || container === undefined) {
      if (!isOver(pod)) return this.#put(pod, endedStatus(pod, { exitCode: 137, reason: 'ContainerStatusUnknown' }));
      const { deletionGracePeriodSeconds: left } = pod.metadata;
      if (left === 0) return;
      return putOrRemove(this.#store, PODS, {
        ...pod,
        metadata: { ...pod.metadata, deletionGracePeriodSeconds: 0 },
      });
    }
    run.endProbe?.();
    const killAt = Date.parse(pod.metadata.deletionTimestamp ?? '');
    if (run.killAt === undefined) container.signal('SIGTERM');
    if (run.killAt !== undefined && run.killAt <= killAt) return;
    run.killAt = killAt;
    clearTimeout(run.killer);
    run.killer = setTimeout(() => container.signal('SIGKILL'), Math.max(0, killAt - Date.now()));
    run.killer.unref();
  }

  #forget(uid: string, run: PodRun): void {
    if (run.isStarting) return;
    this.#runs.delete(uid);
    clearTimeout(run.killer);
    run.endProbe?.();
    run.container?.signal('SIGKILL');
    this.#remove(uid, run.container?.ended);
  }

  #remove(uid: string, after: Promise<unknown> = Promise.resolve()): void {
    const removal = after
      .then(() => removeDisks(join(this.#place.folder, 'pods', uid)))
      .catch((error: unknown) => this.#place.record('kubernetes-failure', uid, { error: String(error) }))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** The pod as it is now; undefined if it is gone, or if another pod has its name. */
  #current({ metadata }: Pick<Pod, 'metadata'>): Pod | undefined {
    const pod = this.#store.get<Pod>(PODS, metadata.namespace ?? '', metadata.name);
    return pod?.metadata.uid === metadata.uid ? pod : undefined;
  }

  #put(pod: Pod, status: PodStatus): void {
    this.#store.put(PODS, { ...pod, status });
  }
}

function whyNoImage(image: string): string {
  const [repository = ''] = image.split(':');
  const isUpper = repository !== repository.toLowerCase();
  const full = repository.includes('/') ? repository : `library/${repository}`;
  return `invalid reference format${isUpper ? `: repository name (${full}) must be lowercase` : ''}`;
}

const NO_ROOT = 'the rehearsal runs pods in namespaces of their own alone, and cannot make them here: ';
/** The end of a container whose node went down, of which nothing more is known. */
const LOST = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
} as const;
