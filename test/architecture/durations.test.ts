import assert from 'node:assert/strict';
import type { sleep } from '@temporalio/workflow';

type Duration = Parameters<typeof sleep>[0];

/** types/ms.d.ts: without it a duration is `any`. The compiler of `npm run check:lint` is the judge of these lines. */
describe('a duration', () => {
  it("of no known unit does not compile: sleep('bogus')", () => {
    const known: Duration = '5 minutes';
    // @ts-expect-error: an error that does not occur is one itself.
    const unknown: Duration = 'bogus';
    assert.notEqual(known, unknown);
  });
});
