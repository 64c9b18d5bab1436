import assert from 'node:assert/strict';
import { Client } from '@temporalio/client';
import { queryOf } from '../../client/job-query.js';
import { TEMPORAL_START_MS, testServer } from '../temporal-server.js';

/** schemathesis found the first of these: `malformed SQL query`, a fault of the server. */
describe('names that a query is asked for', () => {
  const NAMES = ['ends with \\', "'", "\\'", "\\\\'", '\\" OR 1', "' OR WorkflowId != '", '%', '`', 'é{\\'];
  let client: Client;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const { connection, namespace } = await testServer();
    client = new Client({ connection, namespace });
  });

  for (const name of NAMES)
    it(`${name} stays a value, on a real Temporal server`, async () => {
      for (const filter of [{ ids: [name] }, { user: name }])
        assert.equal((await client.workflow.count(queryOf(filter))).count, 0, JSON.stringify(filter));
      // Of a name it asks for a range of ids, and looks at each of them.
      await client.workflow.count(queryOf({ name }));
    });
});
