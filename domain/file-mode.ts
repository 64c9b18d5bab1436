/**
 * The mode of a file that others than its owner can reach, for people: `644`. Undefined: it is its owner's alone, as OpenSSH wants of
 * its keys.
 * @param mode as `stat` gives it
 */
export const modeForOthers = (mode: number): string | undefined =>
  (mode & 0o077) === 0 ? undefined : (mode & 0o777).toString(8);
