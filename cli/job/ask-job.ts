import type { Asker } from '../../domain/job-state.js';
import type { JobVerb } from '../../contract/job-requests.js';
import type { JobWish } from '../../client/job-calls.js';
import type { JobClient } from '../../client/job-client.js';
import type { TemporalJobsOptions } from '../../client/temporal-jobs.js';
import { askerAt } from '../place/asker.js';
import { withClient } from '../place/connect.js';
import { contextToChange, type CliContext, type ContextFlags } from '../place/context.js';
import { ExitCode } from '../terminal/cli-error.js';
import type { OutputFlag } from '../terminal/options.js';
import { asTyped, printOut } from '../terminal/print.js';
import { TransferLine } from '../terminal/render/transfer-line.js';

export interface AskFlags extends ContextFlags, OutputFlag {
  /** The user who asks. */
  readonly by?: string;
}

export interface AskOptions {
  readonly context?: CliContext;
  /** Store for local files that an edit names. */
  readonly store?: TemporalJobsOptions['store'] | undefined;
}

/** Sends a request to an open job and prints its answer. */
export async function askJob(
  job: string,
  flags: AskFlags,
  call: (client: JobClient, asker: Asker) => Promise<string>,
  options: AskOptions = {},
): Promise<number> {
  const { context = contextToChange(flags), store } = options;
  const uploading = new TransferLine('uploading');
  return withClient(
    context,
    async (client) => {
      const asker = await askerAt(client, flags.by, context);
      const message = await call(client, asker).finally(() => uploading.end());
      const { phase } = await client.row(job);
      const text = flags.output === 'json' ? JSON.stringify({ id: job, phase, message }, null, 2) : asTyped(message);
      printOut(`${text}\n`);
      return ExitCode.Done;
    },
    { ...(store && { store }), onUpload: uploading.show },
  );
}

/** The flags that a verb has in addition to those of every request, as keys of its wish. Undefined: the flag was not given. */
type Wished<Verb extends JobVerb> = { readonly [Key in keyof JobWish<Verb>]: JobWish<Verb>[Key] | undefined };

/** Runs a verb that sends one request to one job and prints its answer. */
export const asking =
  <Verb extends JobVerb, Flags>(verb: Verb, wishOf: (flags: Flags) => Wished<Verb>) =>
  (job: string, flags: AskFlags & Flags): Promise<number> =>
    askJob(job, flags, (client, { by, from }) => {
      const given = Object.entries({ from, ...wishOf(flags) }).filter(([, value]) => value !== undefined);
      return client[verb](job, by, Object.fromEntries(given) as never);
    });
