import type { z } from 'zod';
import { section, text, textMap, wholeNumber } from '../../job-file/fields.js';

export const MOST_MACHINES = 1024;
export const MOST_ACCELERATORS = 100_000;

const schema = section({
  accelerator: text()
    .nullish()
    .describe('A type as the pool file has it, such as h100; machines without any if left out.'),
  count: wholeNumber(1, MOST_ACCELERATORS).nullish().describe('Accelerators of all machines of a slice, such as 16.'),
  hosts: wholeNumber(1, MOST_MACHINES).nullish().describe('Machines of a slice; 1 without it.'),
  labels: textMap().nullish().describe('Labels that each machine must have, as the pool file gives them.'),
});

/** The form of `machines` in a job file. */
export const machinesSection = (): typeof schema => schema;

export type MachinesForm = z.infer<typeof schema>;
