import { type Expected, type StorePort, StoreUnavailable, type Written } from './port.js';

/** How often `replace` starts again when somebody else wrote in between. */
const REPLACE_TRIES = 5;

/** `StorePort.replace` by the others. @param place of the object, for the error */
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
