/** Reads until `isSo`, a little apart. @throws Error with what was read last when the deadline is over. */
export async function eventually<T>(
  what: string,
  read: () => Promise<T>,
  isSo: (value: T) => boolean,
  deadlineMs = 10_000,
): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const value = await read();
    if (isSo(value)) return value;
    if (performance.now() > end)
      throw new Error(`not within ${deadlineMs} ms: ${what}; last seen ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
