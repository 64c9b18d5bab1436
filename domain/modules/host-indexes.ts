import { z } from 'zod';

const hostIndex = () => z.int({ error: 'the index of a host' });

/** Hosts of each slice, by index. */
export const hostIndexes = () =>
  z.union([hostIndex(), z.array(hostIndex()), z.literal('all')], {
    error: 'the index of one host, a list of indexes, or all',
  });
