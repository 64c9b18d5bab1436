import { z } from 'zod';
import { problemSchema } from '../../contract/api/schemas.js';

/** What every call can be answered with, for the OpenAPI document. */
export const PROBLEMS = {
  400: problemSchema.describe('The form of the call is wrong.'),
  401: problemSchema.describe('No valid login.'),
  403: problemSchema.describe('The access table does not allow it; `detail` says who may.'),
  404: problemSchema.describe('There is no such job, pool or object.'),
  429: problemSchema.describe('Too many calls; Retry-After says when.'),
  503: problemSchema.describe('Temporal, the store or the issuer does not answer.'),
} as const;

/** A call that changes something can be refused by the job or the pool, or be wrong in itself. */
export const CHANGE_PROBLEMS = {
  ...PROBLEMS,
  409: problemSchema.describe('Refused: the name is in use, or the state of the job or pool makes no sense of it.'),
  413: problemSchema.describe('The body is too large.'),
  422: problemSchema.describe('What was sent is wrong: `detail` names every place.'),
} as const;

export const nothing = z.undefined().describe('Done.');
