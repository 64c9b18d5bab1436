import { createOwnMachines, type OwnMachines } from '../cloud/machines/own/own-machines.js';
import type { StorePort } from '../cloud/store/port.js';

/** The adapter of machines of one's own, for pools that have none. */
export const noOwnMachines = (store: StorePort): OwnMachines =>
  createOwnMachines({
    inventory: async () => [],
    store,
    fleet: { connect: () => Promise.reject(new Error('this pool has no machines')) },
    key: { privateKey: '' },
  });
