/** Only key of the JSON that stands for a payload which could not be read. */
const MARK = 'jobctl.encryptedWith';

/** What a codec that marks puts in the place of a payload whose key it does not have. */
export const markOf = (keyId: string): Record<string, string> => ({ [MARK]: keyId });

/** The id of the key that is missing, where a decoded value is such a mark. */
export function missingKeyOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !(MARK in value)) return undefined;
  return String(value[MARK]);
}
