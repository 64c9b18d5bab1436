/** Most characters of a quota file: thousands of projects, or of members. Apart from its parser, which forms need not load. */
export const MOST_QUOTA_FILE = 256 * 2 ** 10;
/** Most characters of a pool file: thousands of machines. */
export const MOST_POOL_FILE = 512 * 2 ** 10;
