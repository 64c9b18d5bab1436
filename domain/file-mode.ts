/**
 * The mode of a file that not only its owner can access, for people: `644`. Undefined if only its owner can, which OpenSSH
 * requires of its keys. @param mode from `stat`
 */
export const modeForOthers = (mode: number): string | undefined =>
  (mode & 0o077) === 0 ? undefined : (mode & 0o777).toString(8);
