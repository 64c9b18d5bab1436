import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { ServerStack, SERVICE } from '../../server/server-stack.js';
import { decisionSuite } from './decision-suite.js';
import { tokenSuite } from './token-suite.js';

describe('F5: whose token is taken, and who may do what, over HTTP', function () {
  this.timeout(180_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start({ serverConfig: SERVICE });
  });
  after(() => stack?.stop());

  tokenSuite(() => stack);
  decisionSuite(() => stack);
});
