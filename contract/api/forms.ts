import { z } from 'zod';
import { JOB_REQUESTS, type JobRequest, type JobVerb, type KeysOf } from '../job-requests.js';
import { text } from '../lease-forms.js';
// The OpenAPI document lists the forms that have an id in this order.
import * as board from './board.js';
import * as hosts from './hosts.js';
import * as groups from './groups.js';
import * as jobs from './jobs.js';
import * as schedules from './schedules.js';
import * as failures from './failures.js';
import * as changes from './changes.js';
import { askerBody } from './changes.js';
import * as stored from './stored.js';
import * as pools from './pools.js';
import * as callers from './callers.js';
import * as counted from './counted.js';

/** Bodies of requests to a job that have no form in changes.ts. */
const requestBodies = Object.fromEntries(
  Object.values(JOB_REQUESTS)
    .filter(({ body }) => !(body in changes))
    .map(({ body, keys }) => [body, askerBody.extend(keys({ z, text }))]),
) as unknown as {
  readonly [Verb in JobVerb as Exclude<JobRequest<Verb>['body'], keyof typeof changes>]: z.ZodObject<
    (typeof askerBody)['shape'] & KeysOf<Verb>,
    z.core.$strict
  >;
};

/** The zod forms of the HTTP interface, by the names that contract/operations.ts has for them. */
export const FORMS = {
  ...hosts,
  ...jobs,
  ...groups,
  ...schedules,
  ...failures,
  ...changes,
  ...requestBodies,
  ...stored,
  ...pools,
  ...callers,
  ...counted,
  ...board,
};
