import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { RehearsalClock } from './clock.js';
import { ComputeCloud } from './compute/compute-cloud.js';
import { asNodes } from './compute/fleet-view.js';
import type { FleetSurroundings } from './fleet.js';
import { Fleet } from './fleet.js';
import type { Journal } from './journal.js';
import type { ProjectFacts } from './project/facts.js';
import { DEFAULT_PROJECT } from './project/facts.js';
import { Random } from './random.js';
import { recordRestored } from './restored.js';
import { loadState, StateFile } from './state-file.js';
import { Timeline } from './timeline.js';
import { TpuCloud } from './tpu/cloud.js';
import { ListHistory } from './tpu/list-lag.js';
import type { NodeRecord } from './tpu/model.js';
import type { Settings } from './tpu/settings.js';
import { DEFAULT_SETTINGS } from './tpu/settings.js';
import type { CloudState } from './tpu/state.js';
import { emptyState } from './tpu/state.js';
import { upgraded } from './tpu/upgrade.js';

export interface Core {
  readonly cloud: TpuCloud;
  readonly compute: ComputeCloud;
  readonly clock: RehearsalClock;
  readonly timeline: Timeline;
  readonly fleet: Fleet;
  readonly listHistory: ListHistory;
  /** Call after anything that may have changed: carries out due events, makes the VMs follow, and saves. */
  readonly changed: () => Promise<void>;
  /** Why the state or the journal is not on disk, with the file's name; undefined if both are. */
  readonly trouble: () => string | undefined;
  readonly stop: () => Promise<void>;
}

export interface CoreOptions {
  readonly subnetOctet: number;
  readonly sshPort: number;
  readonly storeUrl: string;
  readonly restUrl?: () => string | undefined;
  readonly surroundings?: FleetSurroundings;
  /** Facts of the rehearsed project. */
  readonly facts?: () => ProjectFacts;
  /** Machines that no API knows. Absent: none. */
  readonly machines?: readonly NodeRecord[];
  readonly settings: Partial<Settings>;
  /** Seed of a new cloud; an existing cloud keeps its own. Absent: random. */
  readonly seed?: number | undefined;
  /** Absent: unchanged. */
  readonly timeScale?: number | undefined;
}

/** Starts the cloud with its clock, VMs and state file. Resolves when the VMs of live nodes run again. Rejects if a VM cannot. */
export async function startCore(stateDir: string, options: CoreOptions, journal: Journal): Promise<Core> {
  const state: CloudState = upgraded({
    ...emptyState(DEFAULT_SETTINGS, { seed: options.seed ?? randomInt(2 ** 32 - 1), wallNow: Date.now() }),
    ...loadState(stateDir),
  });
  state.settings = { ...DEFAULT_SETTINGS, ...state.settings };
  const clock = new RehearsalClock(state.clock);
  clock.set({ scale: options.timeScale });
  journal.timeBy(() => clock.now());
  const record = journal.record.bind(journal);
  if (state.journalSeq !== undefined) recordRestored(journal, state, state.journalSeq);
  const history = new ListHistory(state);
  journal.onEvent((event) => history.observe(event));
  const cloud = new TpuCloud(state, {
    now: () => clock.now(),
    atInstant: (instant, run) => clock.atInstant(instant, run),
    random: new Random(state.random),
    subnetOctet: options.subnetOctet,
    record,
  });
  const timeline = new Timeline(
    clock,
    () => cloud.lifecycle.advance(),
    () => state.advancedTo,
  );
  const compute = new ComputeCloud(cloud.records, options.facts ?? (() => DEFAULT_PROJECT));
  timeline.join(compute);
  const { machines = [] } = options;
  const nodes = () => [...Object.values(state.nodes), ...asNodes(Object.values(state.compute.vms)), ...machines];
  const file = new StateFile(stateDir, state, () => cloud.records.takeTouched());
  cloud.configure(options.settings);
  const failures: Error[] = [];
  let phase: 'starting' | 'running' | 'stopped' = 'starting';
  let timer: NodeJS.Timeout | undefined;
  const changed = (): Promise<void> => {
    if (phase === 'stopped') return file.save();
    const due = timeline.advance();
    state.journalSeq = journal.lastSeq;
    fleet.reconcile(nodes());
    clearTimeout(timer);
    const wait = due === undefined ? undefined : clock.wallMsUntil(due);
    // A timer holds at most 24 days: a longer wait is cut short and checked again.
    if (wait !== undefined) timer = setTimeout(noteChange, Math.min(Math.max(wait, 1), 0x7fffffff));
    return file.save();
  };
  // Nothing awaits this promise: a failed save is retried, and the status reports it (`trouble`).
  const noteChange = (): void => void changed().catch(() => undefined);
  clock.onChange(noteChange);
  const fleet = new Fleet(
    join(stateDir, 'vms'),
    { ...options, now: () => clock.now(), sshAtShutdown: () => cloud.state.settings.sshAtShutdown },
    {
      record,
      booted(name, nodeId) {
        (isVm(name) ? compute : cloud).markBooted(name, nodeId);
        noteChange();
      },
      failed(name, nodeId, error) {
        record('vm-failure', name, { error: error.message });
        // A port that is taken at a restart must not destroy existing slices.
        if (phase === 'starting') failures.push(error);
        else (isVm(name) ? compute : cloud).markBootFailed(name, nodeId, error);
        noteChange();
      },
    },
  );
  const stop = async (): Promise<void> => {
    phase = 'stopped';
    clearTimeout(timer);
    await fleet.stop();
    state.journalSeq = journal.lastSeq;
    await file.close();
  };
  await fleet.sweep(nodes());
  await changed();
  await fleet.settled();
  if (failures[0] !== undefined) {
    await stop();
    throw failures[0];
  }
  phase = 'running';
  const trouble = (): string | undefined => file.trouble ?? journal.trouble;
  return { cloud, compute, clock, timeline, fleet, listHistory: history, changed, trouble, stop };
}

/** True for a Compute Engine VM, false for a node. */
const isVm = (name: string): boolean => name.includes('/instances/');
