import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { ServerStack } from '../../server/server-stack.js';
import { NO_LIMITS, submissionSuite } from './submission-suite.js';

describe('a job through the server', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start({ replicas: 2, serverConfig: () => NO_LIMITS });
  });
  after(() => stack?.stop());

  submissionSuite(() => stack);
});
