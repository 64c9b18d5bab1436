import { type Expected, type StorePort, StoreUnavailable, type Written } from './port.js';

/** Tries of `replace` if another writer wrote in between. */
const REPLACE_TRIES = 5;

/** Implements `StorePort.replace` by the other methods. @param place the object's place, for the error */
export async function replaceBy(
  store: Pick<StorePort, 'stat'>,
  name: string,
  write: (expected: Expected) => Promise<Written>,
  place: string,
): Promise<void> {
  for (let tries = 0; tries < REPLACE_TRIES; tries++) {
    const found = await store.stat(name);
    if ((await write(found ? { generation: found.generation } : 'absent')).kind === 'written') return;
  }
  const why = `it was written by others ${REPLACE_TRIES} times meanwhile: it should have one writer`;
  throw new StoreUnavailable(`store: replace ${place}: ${why}`);
}
