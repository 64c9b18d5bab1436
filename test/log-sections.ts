import { writeSync } from 'node:fs';
import { relative } from 'node:path';
import type { Context, RootHookObject } from 'mocha';

/** In a process whose output goes to a file (test/reporter.cjs): a heading as each test file begins, so that its part is found. */
export const mochaHooks: RootHookObject =
  process.env['JOBCTL_TEST_LOGS'] === undefined
    ? {}
    : {
        beforeAll(this: Context) {
          const file = this.test?.parent?.suites[0]?.file;
          if (file !== undefined) writeSync(1, `\n=== ${relative(process.cwd(), file)}\n`);
        },
      };
