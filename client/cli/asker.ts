import { hostname, userInfo } from 'node:os';
import type { Asker } from '../../domain/job-state.js';

/** Who types, by this computer's word: the login name and the name of the computer. */
export const asker = (user?: string): Asker => ({ by: user ?? userInfo().username, from: hostname() });
