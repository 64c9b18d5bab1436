import { COMMAND_ROWS } from './command-rows.js';
import { HOST_ROWS } from './host-rows.js';
import { JOB_ROWS } from './job-rows.js';
import type { Rows } from './row.js';
import { SLICE_ROWS } from './slice-rows.js';

/** All rules. docs/recovery.md is written from them (scripts/write-recovery.ts). */
export const ROWS: Rows = { ...SLICE_ROWS, ...HOST_ROWS, ...COMMAND_ROWS, ...JOB_ROWS };
