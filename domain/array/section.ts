import { z } from 'zod';
import { flag, section, wholeNumber } from '../job-file/fields.js';

/** Most places of a matrix: an index has four digits, and the state of a group one character for each. */
export const MOST_MEMBERS = 10_000;

const scalar = () => z.union([z.string(), z.number(), z.boolean()], { error: 'text, a number, true or false' });
const axis = () =>
  z.union([z.array(scalar()), z.string()], { error: 'a list of values, or a range of whole numbers such as 1..5' });

/** The form of the section `array` (docs/adr/0157). Its meaning is checked by domain/array/array.ts. */
export const arrayForm = () =>
  section({
    matrix: z
      .record(z.string(), axis(), { error: 'a section of NAME: values' })
      .nullish()
      .describe('Axes of the array: a list of values or a range 1..5 each. Every combination is one member.'),
    exclude: z
      .array(z.record(z.string(), scalar()), { error: 'a list of {NAME: value}' })
      .nullish()
      .describe('Combinations that are no members; axes that an entry leaves out may have any value.'),
    max_parallel: wholeNumber(1, MOST_MEMBERS)
      .nullish()
      .describe('Members that are open at once, at most; all without it.'),
    fail_fast: flag().nullish().describe('Whether the first member that fails cancels the others.'),
  });
