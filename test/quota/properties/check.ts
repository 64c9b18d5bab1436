import assert from 'node:assert/strict';
import fc from 'fast-check';

/** Cases per property: a few hundred in `npm test`, 100,000 in .ci/long. */
export const RUNS = Number(process.env['JOBCTL_PROPERTY_RUNS'] ?? 250);

/**
 * Runs `claim` over many drawn values. It throws where it does not hold, and says whether the case was more than trivial; at
 * least about `interesting` of all must be, so that a property cannot hold because nothing happens.
 * @param interesting share, 0 to 1
 * @param share of RUNS: less for those that take long
 */
export function holds<Value>(
  drawn: fc.Arbitrary<Value>,
  claim: (value: Value) => boolean,
  { interesting, share = 1 }: { readonly interesting: number; readonly share?: number },
): void {
  const numRuns = Math.max(1, Math.ceil(RUNS * share));
  let seen = 0;
  fc.assert(
    fc.property(drawn, (value) => {
      if (claim(value)) seen += 1;
    }),
    { numRuns },
  );
  // Four standard deviations below what is expected: chance alone fails one seed in 30,000.
  const expected = numRuns * interesting;
  assert.ok(seen >= expected - 4 * Math.sqrt(expected), `${seen} of ${numRuns} cases were more than trivial`);
}
