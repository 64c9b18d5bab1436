import type { JobRow } from '../../job-rows.js';

/** Behind a name that is its owner's own word (docs/login.md). */
export const UNVERIFIED = '(unverified)';

/** `alice@example.org`, or `alice (unverified)`. */
export const shownUser = ({ user, isVerified }: Pick<JobRow, 'user' | 'isVerified'>): string =>
  isVerified === true ? user : `${user} ${UNVERIFIED}`;
