/** Orders names as a store does: by their bytes in UTF-8, which is not the order of JavaScript's strings. */
export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
