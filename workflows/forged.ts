/**
 * A payload that claims a key of the codec which does not open it. No form of contract/ takes it, so a signal or an update that
 * carries it is refused like other garbage. Registered for all realms: the converter and the workflows need not share a module.
 */
export const FORGED: unique symbol = Symbol.for('jobctl.forged');

/**
 * For inputs of workflows. A worker with the wrong bytes under a right key id would end every workflow that it reads.
 * @throws TypeError: the workflow task fails, and is tried again until a worker can read the input
 */
export function mustBeReadable(input: unknown): void {
  if (input === FORGED)
    throw new TypeError(
      'the input cannot be decrypted with the key that it names: is it the right key on this worker?',
    );
}
