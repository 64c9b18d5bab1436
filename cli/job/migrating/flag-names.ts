/** Flags of `jobctl launch`, and of Astera's `launch submit`, that no flag of `jobctl submit` is called. */
export const ASTERA_FLAG_NAMES: readonly string[] = ['--execution', '--workers', '--gpus', '--name-prefix'];
