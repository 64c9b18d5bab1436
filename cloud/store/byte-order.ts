/** The order of names in a store: that of their bytes in UTF-8, which is not that of JavaScript's strings. */
export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
