import { z } from 'zod';
import { TOPIC_WORDS } from '../job-events/topics.js';
import { section, text, texts } from './fields.js';

/** The form of a target in a job file. All keys are optional, so that one wrong key hides no other problem. */
export const notifyForm = () => {
  const rule = section({
    // The list is for editors and exports: a wrong word has an error of its own, which knows the nearest.
    on: z
      .array(text().meta({ enum: [...TOPIC_WORDS] }), { error: 'a list of texts' })
      .nullish()
      .describe('Topics or kinds of events (docs/notify.md); [ended] without it.'),
    to: section({
      workflow: section({
        id: text().nullish().describe('Id of the workflow that is told, in the namespace of the job.'),
        signal: text().nullish().describe('The signal it gets, with one argument: the notice (docs/contract.md).'),
      }).nullish(),
      webhook: text().nullish().describe('An https URL to which events are posted, signed.'),
      secret: text().nullish().describe('With webhook: the name of its signing key in the secret store.'),
      slack: section({
        secret: text().nullish().describe("The name of the secret that holds the incoming webhook's URL."),
      }).nullish(),
      mail: texts().nullish().describe('Addresses that get a mail.'),
      channel: text().nullish().describe('A channel that the operator of the worker has defined.'),
    }).nullish(),
  });
  return z.union([rule, z.array(rule)], { error: 'a section {on, to} or a list of such' });
};
