import type { Bounds } from './bounds.js';

/**
 * Most bytes of a job's input as JSON. Temporal takes messages of 2 MiB, and a job that continues as new carries its input, its
 * spec and an edit with its text: up to five times as much.
 */
export const MOST_INPUT_BYTES = 384 * 2 ** 10;

/** Bounds of a call that edits a job: the file, the values set in it, its text, and the names of its files. */
export const MOST_OF_AN_EDIT: Bounds = { characters: MOST_INPUT_BYTES, values: 15_000, levels: 50 };
/** Values that one edit sets, and characters of a key in the path of one. */
export const MOST_SET = 1_000;
export const MOST_KEY_CHARACTERS = 200;

/** Temporal's own limit for the content of one command (`limit.blobSize.error`, 2 MiB), less its additions to a JSON value. */
export const MOST_MESSAGE_BYTES = 2 * 2 ** 20 - 256;

/** Length of a value as JSON in UTF-8. The value must not be deep, because `JSON.stringify` is recursive. */
export function jsonBytes(value: unknown): number {
  return utf8Bytes(JSON.stringify(value) ?? '');
}

/** Length of a text in UTF-8, without Buffer, which workflows do not have. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (const character of text) bytes += utf8Length(character.codePointAt(0) ?? 0);
  return bytes;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}

export const TOO_LARGE_HINT =
  'put long values into a file of the job (files:, bundle:), which goes through the bucket; `env` is for short ones';

/** The reason why a job's input is too large, with a remedy, or undefined if it is not. */
export function inputSizeProblem(input: unknown, most: number = MOST_INPUT_BYTES): string | undefined {
  const bytes = jsonBytes(input);
  if (bytes <= most) return undefined;
  return `input: the job is ${bytes} bytes of JSON, and ${most} are the most\n  ${TOO_LARGE_HINT}`;
}
