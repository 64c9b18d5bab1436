import { TEMPORAL_START_MS } from '../temporal-server.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';

/** Hooks of a `describe`: a stack of its own. @param use gets it, and its cloud from behind, when they are there */
export function withStack(use: (stack: TestStack, admin: RehearsalAdmin) => void | Promise<void>): void {
  let stack: TestStack | undefined;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start();
    await use(stack, new RehearsalAdmin(stack.rehearsal.endpoints.admin));
  });
  after(() => stack?.stop());
}
