import { z } from 'zod';
import { storePlaceProblem } from '../domain/store-place.js';

/** Place where objects are kept, in the configuration of a worker or a server (docs/stores.md). */
export const storeSetting = z.string().superRefine((text, { addIssue }) => {
  const problem = storePlaceProblem(text);
  if (problem !== undefined) addIssue({ code: 'custom', message: problem });
});
