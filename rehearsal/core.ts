import { join } from 'node:path';
import { Fleet } from './fleet.js';
import type { Journal } from './journal.js';
import { loadSnapshot, Snapshot } from './snapshot.js';
import { TpuCloud } from './tpu/cloud.js';
import type { CloudState, Settings } from './tpu/state.js';
import { DEFAULT_SETTINGS, emptyState } from './tpu/state.js';

export interface Core {
  readonly cloud: TpuCloud;
  readonly fleet: Fleet;
  /** To be called after anything that may have changed: moves what is due, makes the VMs follow, saves. */
  readonly changed: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface CoreOptions {
  readonly subnetOctet: number;
  readonly sshPort: number;
  readonly storeUrl: string;
  readonly settings: Partial<Settings>;
}

/** The cloud with its clock, its VMs and its disk. Resolves when the VMs of live nodes run again; rejects if one cannot. */
export async function startCore(stateDir: string, options: CoreOptions, journal: Journal): Promise<Core> {
  const file = join(stateDir, 'cloud.json');
  const state = loadSnapshot<CloudState>(file) ?? emptyState(DEFAULT_SETTINGS);
  state.settings = { ...DEFAULT_SETTINGS, ...state.settings, ...options.settings };
  const record = journal.record.bind(journal);
  const cloud = new TpuCloud(state, { now: Date.now, subnetOctet: options.subnetOctet, record });
  const snapshot = new Snapshot(file, () => state);
  const failures: Error[] = [];
  let phase: 'starting' | 'running' | 'stopped' = 'starting';
  let timer: NodeJS.Timeout | undefined;
  const changed = (): Promise<void> => {
    if (phase === 'stopped') return snapshot.save();
    const due = cloud.lifecycle.advance();
    fleet.reconcile(Object.values(state.nodes));
    clearTimeout(timer);
    // A longer wait than a timer can hold (24 days) is cut and looked at again.
    if (due !== undefined)
      timer = setTimeout(() => void changed(), Math.min(Math.max(due - Date.now(), 1), 0x7fffffff));
    return snapshot.save();
  };
  const fleet = new Fleet(join(stateDir, 'vms'), options, {
    record,
    booted(name, nodeId) {
      cloud.markBooted(name, nodeId);
      void changed();
    },
    failed(name, nodeId, error) {
      record('vm-failure', name, { error: error.message });
      // A port that is taken at a restart must not destroy slices that are there.
      if (phase === 'starting') failures.push(error);
      else cloud.markBootFailed(name, nodeId, error);
      void changed();
    },
  });
  const stop = async (): Promise<void> => {
    phase = 'stopped';
    clearTimeout(timer);
    await fleet.stop();
    await snapshot.save();
  };
  await fleet.sweep(Object.values(state.nodes));
  await changed();
  await fleet.settled();
  if (failures[0] !== undefined) {
    await stop();
    throw failures[0];
  }
  phase = 'running';
  return { cloud, fleet, changed, stop };
}
