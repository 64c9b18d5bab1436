import { submitFlags } from '../../cli/commands/verbs.js';
import type { Answer } from '../../cli/job/migrating/launch-answer.js';
import { answerTo as answer } from '../../cli/job/migrating/typed-line.js';

/** As the program asks it. */
export const answerTo = (own: readonly string[], command: readonly string[] | undefined): Answer | undefined =>
  answer(own, command, submitFlags());
