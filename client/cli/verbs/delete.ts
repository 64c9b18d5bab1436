import type { JobRow } from '../../job-rows.js';
import type { JobClient } from '../../job-client.js';
import { ask, mustBeAskable, nothingChanged } from '../ask.js';
import { CliError } from '../cli-error.js';
import { openWritableStore, withClient } from '../connect.js';
import { contextToChange } from '../contexts/told-place.js';
import type { CliContext, ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { count } from '../render/job-header.js';
import { pause, watchEnd } from '../watch/interruptions.js';

export interface DeleteFlags extends ContextFlags, OutputFlag {
  readonly yes?: true;
  readonly purge?: true;
}

/** `delete JOB`: its slices go, its record and logs stay. `--purge`: the record and logs of a job that has ended go too. */
export function deleteJob(job: string, flags: DeleteFlags): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const row = await client.row(job);
    if (flags.purge === true) return purge(client, row, context, flags);
    if (row.endedAt === undefined) {
      if (!(await mayCancel(row, flags))) return nothingChanged();
      await client.cancel(job);
    }
    return waitUntilGone(client, row, flags);
  });
}

/** A job whose command has ended loses nothing. */
async function mayCancel({ id, phase }: JobRow, flags: DeleteFlags): Promise<boolean> {
  if (phase === 'holding') return true;
  return isAgreed(flags, {
    question: `${id} is ${phase}: cancel it and delete its slices?`,
    refusal: `${id} is ${phase}; it would be cancelled`,
    remedy: '--yes cancels it without a question',
  });
}

async function isAgreed(
  flags: DeleteFlags,
  asked: { readonly question: string; readonly refusal: string; readonly remedy: string },
): Promise<boolean> {
  mustBeAskable(flags, `delete: ${asked.refusal}`, asked.remedy);
  return flags.yes === true || ask(`${asked.question} [y/N] `);
}

async function waitUntilGone(client: JobClient, row: JobRow, { output }: DeleteFlags): Promise<number> {
  const { id } = row;
  const isJson = output === 'json';
  if (!isJson && row.endedAt === undefined) process.stdout.write(`${id}: its slices are being deleted\n`);
  const signal = watchEnd();
  let left = await whatIsLeft(client, id);
  while (left !== undefined && !signal.aborted) {
    await pause(LOOK_MS, signal);
    left = await whatIsLeft(client, id);
  }
  const { phase } = await client.row(id);
  if (isJson) process.stdout.write(`${JSON.stringify({ id, phase, left: left ?? [] }, null, 2)}\n`);
  else if (left === undefined)
    process.stdout.write(
      `${id} has ended (${phase}), and nothing of it is left in the cloud. Its record and logs stay.\n`,
    );
  else process.stderr.write(`${id}: its slices are still being deleted; that goes on without you\n`);
  return left === undefined ? ExitCode.Done : ExitCode.Interrupted;
}

const LOOK_MS = 1_000;

/** Slices whose workflows are not through with them, or none yet while the job is open; undefined: nothing is left. */
async function whatIsLeft(client: JobClient, id: string): Promise<readonly string[] | undefined> {
  if ((await client.row(id)).endedAt === undefined) return [];
  const open = await client.openSlices(id);
  return open.length === 0 ? undefined : open;
}

async function purge(
  client: JobClient,
  { id, endedAt, phase }: JobRow,
  context: CliContext,
  flags: DeleteFlags,
): Promise<number> {
  if (endedAt === undefined) {
    throw new CliError(
      ExitCode.Refused,
      `${id} is ${phase}, and what is kept of it is still written: nothing was removed`,
      `\`jobctl delete ${id}\` ends it; then purge`,
    );
  }
  const left = await client.openSlices(id);
  if (left.length > 0) {
    const names = left.join(', ');
    throw new CliError(
      ExitCode.Refused,
      `${id}: slices of it are still being deleted: ${names}`,
      'purge when they are gone',
    );
  }
  const [store, { purgeJob }] = await Promise.all([
    openWritableStore(context, `what is kept of ${id} cannot be removed`),
    import('../../purge-job.js'),
  ]);
  const place = `gs://${store.bucket}/jobs/${id}/`;
  const isMeant = await isAgreed(flags, {
    question: `${id} has ended (${phase}): remove its record and logs, ${place}, for good?`,
    refusal: `the record and logs of ${id}, ${place}, would be removed for good`,
    remedy: '--yes removes them without a question',
  });
  if (!isMeant) return nothingChanged();
  const purged = await purgeJob(store, id);
  const text = `${id}: ${count(purged.objects, 'object')} with ${purged.bytes} bytes removed from ${place}. Its id may be used again when Temporal has forgotten it.`;
  process.stdout.write(`${flags.output === 'json' ? JSON.stringify({ id, ...purged }, null, 2) : text}\n`);
  return ExitCode.Done;
}
