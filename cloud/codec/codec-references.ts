/** Which keys the codec has, by reference: file:///PATH, env:NAME or projects/P/secrets/S/versions/V. */
export interface CodecReferences {
  /** Encrypts all that is sent, and decrypts. Absent: what is sent stays plain. */
  readonly key?: string | undefined;
  /** Keys that only decrypt: those of before, and in a rotation the one that comes. */
  readonly decodeKeys?: readonly string[] | undefined;
}

/** References as the environment and flags give them: with commas. */
export function splitReferences(text: string): string[] {
  return text.split(',').flatMap((each) => each.trim() || []);
}
