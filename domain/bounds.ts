/**
 * Bounds for a value from outside. They are checked before any other code reads the value, because that code may be slower than
 * linear, and a message must not repeat an endless value (docs/adr/0095).
 */
export interface Bounds {
  /** Characters of all texts and keys together. */
  readonly characters: number;
  /** Lists, sections and their elements. */
  readonly values: number;
  /** Levels of nested lists and sections. */
  readonly levels: number;
  /** Characters of one key. Absent: as many as of all texts. */
  readonly keyCharacters?: number;
}

/**
 * Returns the bound that a plain JSON value exceeds, as the end of a sentence, or undefined if it exceeds none. The steps are
 * linear in the bounds, not in the value: the check stops at the first bound exceeded, and no depth exhausts its stack.
 */
export function beyond(value: unknown, bounds: Bounds): string | undefined {
  const { characters, values, levels, keyCharacters = characters } = bounds;
  const open: [value: unknown, level: number][] = [[value, 0]];
  let [seen, length] = [0, 0];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [each, level] = next;
    if (typeof each === 'string') length += each.length;
    else if (typeof each === 'object' && each !== null) {
      if (level === levels) return `its objects and lists lie more than ${levels} levels deep in one another`;
      for (const key in each) {
        if (++seen > values) return `it has more than ${values} values`;
        if (!Array.isArray(each)) {
          if (key.length > keyCharacters)
            return `it has a key of ${key.length} characters: ${keyCharacters} are the most`;
          length += key.length;
        }
        open.push([each[key as keyof typeof each], level + 1]);
      }
    }
    if (length > characters) return `its texts and keys have more than ${characters} characters`;
  }
  return undefined;
}

/**
 * Most bytes of a job's input as JSON. Temporal takes messages of 2 MiB, and a job that continues as new carries its input, its
 * spec and an edit with its text: up to five times as much.
 */
export const MOST_INPUT_BYTES = 384 * 2 ** 10;

/** Bounds of a call that edits a job: the file, the values set in it, its text, and the names of its files. */
export const MOST_OF_AN_EDIT: Bounds = { characters: MOST_INPUT_BYTES, values: 15_000, levels: 50 };
/** Most values that one edit may set. */
export const MOST_SET = 1_000;
/** Most characters of a key in the path of a value that an edit sets. */
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

/** Most characters of a quota file: thousands of projects, or of members. Not in the file's parser, which forms must not load. */
export const MOST_QUOTA_FILE = 256 * 2 ** 10;
/** Most characters of a pool file: thousands of machines. */
export const MOST_POOL_FILE = 512 * 2 ** 10;
