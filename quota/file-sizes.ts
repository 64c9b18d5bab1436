/** Of a quota file, in characters: thousands of projects, or of members. Apart from what parses it, which forms need not load. */
export const MOST_QUOTA_FILE = 256 * 2 ** 10;
/** Of a pool file: thousands of machines. */
export const MOST_POOL_FILE = 512 * 2 ** 10;
