/** A line without parts that differ between runs of the same work: times, fractions, addresses, names of attempts and nodes. */
export const comparableLine = (line: string): string =>
  line
    .replace(/\d{4}-\d\d-\d\d|\d{1,2}:\d\d(:\d\d)?([.,]\d+)?/g, '#')
    .replace(/(?<!\d)\d+((\.\d+)+(e[-+]?\d+)?|(\.\d+)?\s?m?s\b)/gi, '#')
    .replace(/\battempt \d+|-g\d+\b|\bpid \d+|0x[\da-f]+/gi, '#')
    .trim();
