import type { Submitted } from '../../../client/submissions.js';
import { labelOfJob } from '../../../domain/machines.js';
import type { JobClient } from '../../../client/job-client.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type CliContext, shortPlace } from '../../place/context.js';
import { jobHeader, nextCommands } from '../../terminal/render/job-header.js';
import type { ProgressLine } from '../../terminal/render/progress.js';
import type { Screen } from '../watch/screen.js';
import type { ShownLines } from '../watch/follow-to-end.js';
import type { VerdictQuestion } from './first-verdict.js';
import { printErr, printOut } from '../../terminal/print.js';

/** A submitted job, and the screen for its progress. */
type Watched = VerdictQuestion & { readonly client: JobClient; readonly screen: Screen };

/** Prints the first verdict on a job that is not followed. @throws CliError if it was refused */
export async function answer(question: Watched, submitted: Announced, isJson: boolean): Promise<number> {
  const { id, context, screen } = question;
  const isPiped = !process.stdout.isTTY;
  // The id is printed before any wait, so that an interrupted script has it.
  if (isPiped && !isJson) printOut(`${id}\n`);
  for (const line of header(submitted, context)) screen.line(both(line));
  const words = await import('./first-verdict.js');
  screen.line({ plain: words.VERDICT_IS_WAITED_FOR });
  screen.current(words.VERDICT_IS_WAITED_FOR);
  const verdict = await words.firstVerdict(question).finally(() => screen.current(undefined));
  if (verdict === undefined) return (await import('../watch/follow-to-end.js')).interrupted(id, screen);
  if (isJson) printJson({ id, verdict });
  if (verdict.kind === 'refused') throw new CliError(ExitCode.Refused, ...words.refusalLines(id, verdict.message));
  for (const line of words.verdictLines(id, verdict, Date.now())) screen.line(both(line));
  if (!isPiped && !isJson) printOut(`${nextCommands(id).join('\n')}\n`);
  return ExitCode.Done;
}

/** Follows the job to its end. @returns the job's exit code */
export async function follow(
  question: Watched,
  lines: ShownLines,
  isJson: boolean,
  withVerdict: boolean,
): Promise<number> {
  const { followToEnd } = await import('../watch/follow-to-end.js');
  const over = new AbortController();
  question.signal.addEventListener('abort', () => over.abort());
  if (withVerdict) void tellVerdict({ ...question, signal: over.signal });
  const { exitCode, row } = await followToEnd({ ...question, lines, isVerdictTold: withVerdict }).finally(() =>
    over.abort(),
  );
  if (isJson && row) printJson({ id: question.id, phase: row.phase, exitCode, outcome: row.outcome });
  return exitCode;
}

/** Prints facts about a followed job that its phases do not show: its place in line, or that no worker polls. */
async function tellVerdict(question: Watched): Promise<void> {
  const { firstVerdict } = await import('./first-verdict.js');
  // Following the job meets the same error.
  const verdict = await firstVerdict(question).catch(() => undefined);
  if (verdict === undefined || verdict.kind === 'granted' || verdict.kind === 'ended' || question.signal.aborted)
    return;
  const { verdictLines } = await import('./first-verdict.js');
  for (const line of verdictLines(question.id, verdict, Date.now())) question.screen.line(both(line));
}

export const both = (line: string): ProgressLine => ({ live: line, plain: line });
export const printJson = (value: object): void => printOut(`${JSON.stringify(value)}\n`);

interface Announced extends Submitted {
  /** False if the file leaves the pricing to the pool. */
  readonly isPricingSaid: boolean;
}

/** Prints, on a terminal, the header and the next commands; in a pipe, the id alone on stdout and the rest on stderr. */
export function announce(submitted: Announced, context: CliContext, isJson: boolean): void {
  const lines = header(submitted, context);
  if (process.stdout.isTTY && !isJson) {
    printOut(`${[...lines, ...nextCommands(submitted.id)].join('\n')}\n`);
    return;
  }
  printErr(`${lines.join('\n')}\n`);
  if (!isJson) printOut(`${submitted.id}\n`);
}

export function header({ id, spec, isNew, isPricingSaid }: Announced, context: CliContext): readonly string[] {
  const again = isNew ? [] : [`${id} was submitted before with the same content: it is that job`];
  const parts = [jobHeader(id, spec, labelOfJob(spec, context.label), isPricingSaid), shortPlace(context)];
  return [parts.filter((part) => part !== undefined).join('   '), ...again];
}

/** The job file with the context's quota project and user, if it names none. `--dry-run` prints this, the submitted file. */
export function asSubmitted(
  raw: unknown,
  { project, user, server }: Pick<CliContext, 'project' | 'user' | 'server'>,
): unknown {
  const file = raw as Readonly<Record<string, unknown>>;
  const isMissing = (key: string, value: string | undefined): boolean => value !== undefined && file[key] === undefined;
  return {
    ...file,
    ...(isMissing('project', project) ? { project } : {}),
    // A server knows the submitter.
    ...(server === undefined && isMissing('user', user) ? { user } : {}),
  };
}
