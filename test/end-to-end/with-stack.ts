import { TEMPORAL_START_MS } from '../temporal-server.js';
import { JobctlUser } from './jobctl-process.js';
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

/** The same for tests that speak through the command line alone. @param use gets a user of it when the stack is there */
export function withUser(use: (user: JobctlUser) => void): void {
  let user: JobctlUser | undefined;
  withStack((stack) => use((user = JobctlUser.of(stack))));
  after(() => user?.leave());
}
