import { WRONG_ATOMIC } from './wrong-atomic.js';
import { WRONG_FORM } from './wrong-form.js';
import { WRONG_MODULES } from './wrong-modules.js';
import { WRONG_TPU } from './wrong-tpu.js';
import { WRONG_VALUES } from './wrong-values.js';
import type { WrongFile } from './wrong-file.js';

/** Job files and flags that are wrong, each named for what is wrong with it. */
export const WRONG_JOB_FILES: Readonly<Record<string, WrongFile>> = {
  ...WRONG_FORM,
  ...WRONG_TPU,
  ...WRONG_MODULES,
  ...WRONG_VALUES,
  ...WRONG_ATOMIC,
};
