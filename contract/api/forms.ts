// In this order the OpenAPI document lists those that have an id.
import * as hosts from './hosts.js';
import * as groups from './groups.js';
import * as jobs from './jobs.js';
import * as failures from './failures.js';
import * as changes from './changes.js';
import * as stored from './stored.js';
import * as pools from './pools.js';
import * as callers from './callers.js';

/** The zod forms of the HTTP interface, by the names that contract/operations.ts has for them. */
export const FORMS = { ...hosts, ...jobs, ...groups, ...failures, ...changes, ...stored, ...pools, ...callers };
