import assert from 'node:assert/strict';
import { judgeResource, type ResourceFacts, type ResourceVerdict, WEDGED_FROM_ATTEMPT } from '../../domain/janitor.js';

const MINUTE = 60_000;
const PATIENCE = { wedgedMs: 5 * MINUTE, slowMs: 20 * MINUTE };
const FACTS: ResourceFacts = { isInCloud: true, slice: 'open', isJobOpen: false, taskAttempts: 0 };
const wedged = { taskAttempts: WEDGED_FROM_ATTEMPT };

const cases: Record<string, { facts: Partial<ResourceFacts>; want: ResourceVerdict }> = {
  'of an open job is kept': { facts: { isJobOpen: true }, want: 'keep' },
  'of an open job is kept, however often its workflow task failed': {
    facts: { isJobOpen: true, taskAttempts: 1_000 },
    want: 'keep',
  },
  'of a closed job has time to delete itself': { facts: { jobClosedForMs: 5 * MINUTE }, want: 'keep' },
  'of a closed job that takes long is reported': { facts: { jobClosedForMs: 20 * MINUTE }, want: 'report-slow' },
  'of a closed job that is wedged is replaced': { facts: { jobClosedForMs: 5 * MINUTE, ...wedged }, want: 'replace' },
  'that is wedged is given a worker’s restart first': {
    facts: { jobClosedForMs: 5 * MINUTE - 1, ...wedged },
    want: 'keep',
  },
  'whose task failed a few times is not wedged': {
    facts: { jobClosedForMs: 19 * MINUTE, taskAttempts: WEDGED_FROM_ATTEMPT - 1 },
    want: 'keep',
  },
  'whose job Temporal does not know is reported, wedged or not': { facts: wedged, want: 'report' },
  'whose workflow is closed is reclaimed': { facts: { slice: 'closed' }, want: 'reclaim' },
  'whose workflow is closed is reclaimed while its job is open too': {
    facts: { slice: 'closed', isJobOpen: true },
    want: 'reclaim',
  },
  'that was listed as open and has closed since, without a resource, ended well': {
    facts: { slice: 'closed', isInCloud: false },
    want: 'keep',
  },
  'whose workflow is unknown is reported': { facts: { slice: 'unknown' }, want: 'report' },
  'whose workflow is unknown, of an open job, is kept': { facts: { slice: 'unknown', isJobOpen: true }, want: 'keep' },
};

describe('a slice that the janitor finds', () => {
  for (const [name, { facts, want }] of Object.entries(cases))
    it(name, () => assert.equal(judgeResource({ ...FACTS, ...facts }, PATIENCE), want));
});
