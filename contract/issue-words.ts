import { z } from 'zod';
import { storePlaceProblem } from '../domain/store-place.js';

/** Returns the problem of a configuration value in a user's words. Replaces zod's own messages, which are for programmers. */
export function issueWords(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  if (message.endsWith('received undefined')) return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `is not ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return message.startsWith('Too small') ? `is too short or too small: ${issue.minimum} at least` : message;
    case 'too_big':
      return message.startsWith('Too big') ? `is too long or too large: ${issue.maximum} at most` : message;
    case 'invalid_value':
      return `is not one of ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `no such key: ${issue.keys.join(', ')}`;
    default:
      return message.startsWith('Invalid') ? 'is not of the form that is wanted' : message;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a section ({..})',
  record: 'a section ({..})',
};

/** Place where objects are kept, in the configuration of a worker or a server (docs/stores.md). */
export const storeSetting = z.string().superRefine((text, { addIssue }) => {
  const problem = storePlaceProblem(text);
  if (problem !== undefined) addIssue({ code: 'custom', message: problem });
});
