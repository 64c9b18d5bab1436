import type { Allowed } from './compare.js';

/** Fields in which the rehearsal may differ from a recording, each with the reason. A row that no recording needs fails. */
export const ALLOWED: readonly Allowed[] = [];
