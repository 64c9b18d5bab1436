import { until } from '../until.js';

/** Reads until `isSo`, a little apart, as long as `until` waits. @throws Error with what was read last */
export async function eventually<T>(
  what: string,
  read: () => Promise<T>,
  isSo: (value: T) => boolean,
  withinMs = 10_000,
): Promise<T> {
  let last: T | undefined;
  const look = async (): Promise<{ readonly value: T } | undefined> => {
    const value = (last = await read());
    return isSo(value) ? { value } : undefined;
  };
  const found = await until(what, look, withinMs).catch((error: Error) => {
    throw new Error(`${error.message}; last seen ${JSON.stringify(last)}`, { cause: error });
  });
  return found.value;
}
