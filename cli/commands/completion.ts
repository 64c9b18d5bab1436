import type { Command, Option } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobClient } from '../../client/job-client.js';
import { isValidJobId } from '../../domain/identity.js';
import { withClient } from '../place/connect.js';
import { resolveContext } from '../place/context.js';

/** Longest wait for ids: the user has pressed a key and waits. */
const JOBS_WITHIN_MS = 2_000;
const MOST_JOBS = 200;

/**
 * Completion candidates for the last of `words`, which may be an empty word. Returns none where file names may follow. Never
 * throws and never prints messages: a shell would show them in the middle of the line being typed.
 * @param words the command line's, without `jobctl`
 */
export async function candidates(program: Command, words: readonly string[]): Promise<readonly string[]> {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  if (before.includes('--')) return [];
  const { command, positionals } = walk(program, before);
  const all = await inPlace(command, positionals, before.at(-1), current);
  return all.filter((word) => word.startsWith(current));
}

async function inPlace(
  command: Command,
  positionals: number,
  last: string | undefined,
  current: string,
): Promise<readonly string[]> {
  const option = last?.startsWith('-') === true ? optionOf(command, last) : undefined;
  if (option !== undefined && takesValue(option))
    return option.long === '--context' ? contextNames() : (option.argChoices ?? []);
  if (current.startsWith('-')) return [...command.options.flatMap(({ long }) => long ?? []), '--help'];
  if (command.commands.length > 0) return positionals === 0 ? command.commands.map((each) => each.name()) : [];
  const final = command.registeredArguments.at(-1);
  const argument = (command.registeredArguments[positionals] ?? (final?.variadic === true ? final : undefined))?.name();
  if (argument === 'context') return contextNames();
  if (argument === 'name' && command.parent?.name() === 'schedule') return inTime(scheduleNames);
  if (argument === 'group') return inTime(groupIds);
  // Most verbs on jobs take the id of a group too.
  return argument === 'job' ? [...(await Promise.all([inTime(jobIds), inTime(groupIds)])).flat()] : [];
}

/** Returns the command that is meant, and the number of its arguments typed so far. */
function walk(program: Command, words: readonly string[]): { readonly command: Command; readonly positionals: number } {
  let command = program;
  let positionals = 0;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? '';
    if (word.startsWith('-')) {
      const option = optionOf(command, word);
      if (option !== undefined && takesValue(option)) index++;
      continue;
    }
    const verb = command.commands.find((each) => each.name() === word);
    if (verb === undefined) positionals++;
    else command = verb;
  }
  return { command, positionals };
}

const optionOf = (command: Command, word: string): Option | undefined =>
  command.options.find(({ short, long }) => word === short || word === long);
const takesValue = ({ required, optional }: Option): boolean => required || optional;

async function contextNames(): Promise<readonly string[]> {
  const { LOCAL_CONTEXT, readContexts } = await import('../place/contexts/contexts-file.js');
  try {
    return [...readContexts(process.env).byName.keys(), LOCAL_CONTEXT];
  } catch {
    return [LOCAL_CONTEXT];
  }
}

/** Anybody who may start a workflow chooses its id, and a shell would run `$(..)` in a completed word. */
const safeIds = (rows: readonly { readonly id: string }[]): readonly string[] =>
  rows.map(({ id }) => id).filter(isValidJobId);

/** Ids of jobs, open jobs first. */
const jobIds = (client: JobClient): Promise<readonly string[]> =>
  client.list({ limit: MOST_JOBS }).then(({ rows }) => safeIds(rows));

const groupIds = (client: JobClient): Promise<readonly string[]> => client.groups({}, MOST_JOBS).then(safeIds);

const scheduleNames = (client: JobClient): Promise<readonly string[]> =>
  client
    .schedules()
    .list()
    .then((rows) => safeIds(rows.map(({ name }) => ({ id: name }))));

/** Empty if no server answers in time. */
async function inTime(ask: (client: JobClient) => Promise<readonly string[]>): Promise<readonly string[]> {
  // Loaded first, so that the time limit counts for the server only.
  const loading = [import('../../client/job-client.js'), import('@temporalio/client'), import('@temporalio/envconfig')];
  await Promise.all(loading);
  const late = sleep(JOBS_WITHIN_MS, []);
  return Promise.race([late, withClient(resolveContext({}), ask).catch(() => [])]);
}
