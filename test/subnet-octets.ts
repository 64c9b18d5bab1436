import { randomInt } from 'node:crypto';

/** Local stacks take 64 and more, the rehearsal's own tests 130 and more. From anywhere on: one that just ended is left alone. */
export function someOctets(): readonly number[] {
  const [first, count] = [20, 44];
  const from = randomInt(count);
  return Array.from({ length: count }, (_, index) => first + ((from + index) % count));
}
