import { createOwnMachines, type OwnMachines } from '../cloud/machines/own/own-machines.js';
import type { MachineAdapters } from '../cloud/machines/port.js';
import type { StorePort } from '../cloud/store/port.js';
import { openMachines } from '../worker/open-machines.js';

/** The adapter of machines of one's own, for pools that have none. */
export const noOwnMachines = (store: StorePort): OwnMachines =>
  createOwnMachines({
    inventory: async () => [],
    store,
    fleet: { connect: () => Promise.reject(new Error('this pool has no machines')) },
    key: { privateKey: '' },
  });

/** The adapters of all kinds, for pools whose jobs take none of their machines: none of them is ever asked. */
export const providersWithout = (store: StorePort): MachineAdapters => ({
  ...openMachines({ cloud: { insecure: false }, kubernetes: {} }, { cloudCalls: () => () => undefined }),
  machines: noOwnMachines(store),
});
