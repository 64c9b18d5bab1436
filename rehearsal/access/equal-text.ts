import { timingSafeEqual } from 'node:crypto';

/** Compares in a time that does not tell how much of the text was right. */
export function isEqual(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)];
  return one.length === other.length && timingSafeEqual(one, other);
}
