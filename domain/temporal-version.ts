/**
 * The oldest Temporal server that a job was seen to run on: the quick start, on the dev server of CLI 0.12.0 (2026-11-21).
 * 1.29.1 is what everything is tested with.
 */
export const OLDEST_SERVER = '1.23.0';

/** Undefined where the server is new enough, or says a version that is no number (a build of one's own). */
export function serverTooOld(version: string, oldest: string = OLDEST_SERVER): string | undefined {
  const [own, wanted] = [numbersOf(version), numbersOf(oldest)];
  if (own === undefined || wanted === undefined || !isBefore(own, wanted)) return undefined;
  return `the Temporal server has version ${version}, jobctl needs ${oldest} or newer: upgrade the server, one minor version at a time`;
}

function numbersOf(version: string): readonly number[] | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  return match?.slice(1).map(Number);
}

function isBefore(own: readonly number[], wanted: readonly number[]): boolean {
  const at = own.findIndex((part, index) => part !== wanted[index]);
  return at !== -1 && (own[at] ?? 0) < (wanted[at] ?? 0);
}
