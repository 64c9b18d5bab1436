/**
 * The oldest version of another owner's Temporal server that is accepted: a job was seen to run on it, the quick start on the
 * dev server of CLI 0.12.0 (2026-11-21). All tests use 1.29.1. A server that we choose ourselves is newer
 * (cli/local/dev/temporal-server/resolve.ts).
 */
export const OLDEST_SERVER = '1.23.0';

/** Undefined if the server is new enough, or its version is not a number (a user's own build). */
export function serverTooOld(version: string, oldest: string = OLDEST_SERVER): string | undefined {
  if (!isOlderVersion(version, oldest)) return undefined;
  return `the Temporal server has version ${version}, jobctl needs ${oldest} or newer: upgrade the server, one minor version at a time`;
}

/** Compares `1.29.1`, `v1.29.1` and the like. Text behind the numbers does not count. A version without numbers is not older. */
export function isOlderVersion(version: string, than: string): boolean {
  const [own, wanted] = [numbersOf(version), numbersOf(than)];
  if (own === undefined || wanted === undefined) return false;
  const at = own.findIndex((part, index) => part !== wanted[index]);
  return at !== -1 && (own[at] ?? 0) < (wanted[at] ?? 0);
}

function numbersOf(version: string): readonly number[] | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  return match?.slice(1).map(Number);
}
