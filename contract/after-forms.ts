import { z } from 'zod';
import type { Followed, OtherEnded } from './after.js';
import { type Form, form } from './form.js';

// Forms of messages between workflows that wait for one another (contract/after.ts).

const id = z.string().min(1).max(100);

export const followedForm: Form<Followed> = form(z.object({ v: z.literal(1), follower: id }));
export const otherEndedForm: Form<OtherEnded> = form(z.object({ v: z.literal(1), id }));
