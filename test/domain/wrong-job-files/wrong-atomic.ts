import { TPU, type WrongFile } from './wrong-file.js';

/** Jobs that cannot be atomic. */
export const WRONG_ATOMIC: Readonly<Record<string, WrongFile>> = {
  'one slice that is atomic': {
    text: `${TPU}atomic: true
`,
    want: [
      'train.yaml:2:9: atomic: is for jobs of several slices, and this job has one',
      '  write slices: 2 or more, or leave atomic out: one slice is granted whole anyway',
    ],
  },
  'atomic slices that are wrong themselves': {
    text: `${TPU}slices: 257
atomic: perhaps
`,
    want: [
      'train.yaml:2:9: slices: 257 is not a whole number from 1 to 256',
      "train.yaml:3:9: atomic: 'perhaps' is not true or false",
    ],
  },
  'atomic slices that are nodes, of a type that Google takes none of': {
    text: `tpu: {accelerator: v3-8, zone: us-central1-a, allocation_mode: tpu-vm}
slices: 2
atomic: true
`,
    want: [
      'train.yaml:3:9: atomic: asks for several slices in one queued resource, and allocation_mode is tpu-vm',
      '  write allocation_mode: queued-resources, or leave atomic out',
    ],
  },
  'atomic slices of a type that Google takes none of': {
    text: `tpu: {accelerator: v2-8, zone: us-central1-a}
slices: 2
atomic: true
`,
    want: [
      'train.yaml:3:9: atomic: is for v4 and later: Google takes no request for several slices of v2-8',
      '  leave atomic out, or take a later type',
    ],
  },
};
