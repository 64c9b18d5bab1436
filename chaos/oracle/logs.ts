import { type CommandProcess, placeOf, processesOf } from './commands.js';
import type { AskedJob, Evidence } from './evidence.js';
import type { Finding } from './verdict.js';

/** Prefix of each line that a chaos command prints. Any other line in a stored log is jobctl's own. */
export const COMMAND_LINE = 'L ';
/** Words by which a line of jobctl's may report a missing tail. */
const SAID = /\b(?:missing|lost|may lack|not (?:stored|read|kept)|incomplete|cut off)\b/iu;
const ABOUT_OUTPUT = /\b(?:output|logs?|lines?|printed|bytes|tail)\b/iu;

interface Place {
  readonly attempt: number;
  readonly slice: number;
  readonly host: number;
}

/** Compares the stored output of each host in each attempt with the lines that the command reported. */
export function logFindings(evidence: Evidence): readonly Finding[] {
  const processes = processesOf(evidence.told);
  return evidence.jobs.flatMap((job) =>
    placesOf(job, processes, evidence).flatMap((place) => judge(evidence, job, place, processes)),
  );
}

function placesOf(job: AskedJob, processes: readonly CommandProcess[], { stored }: Evidence): readonly Place[] {
  const printed = processes.filter((each) => each.job === job.id);
  const kept = stored
    .filter((each) => each.job === job.id)
    .map(({ attempt, host }) => ({ attempt, slice: Math.floor(host / job.hosts), host: host % job.hosts }));
  const all = [...printed, ...kept].map(({ attempt, slice, host }): Place => ({ attempt, slice, host }));
  return [...new Map(all.map((place) => [placeOf(place), place])).values()];
}

function judge(
  { stored, results, deeds }: Evidence,
  job: AskedJob,
  place: Place,
  processes: readonly CommandProcess[],
): readonly Finding[] {
  const number = place.slice * job.hosts + place.host;
  const log = stored.find((each) => each.job === job.id && each.attempt === place.attempt && each.host === number);
  const own = processes.filter((each) => each.job === job.id && placeOf(each) === placeOf(place));
  const printed = own
    .flatMap(({ lines }) => lines)
    .map((line) => `${line}\n`)
    .join('');
  const { command, others } = split(log?.text ?? '');
  const subject = job.id;
  if (!printed.startsWith(command)) {
    const text = `${placeOf(place)}: ${difference(printed, command)}`;
    return [{ count: 'stored output that is no prefix', subject, text }];
  }
  if (command.length >= printed.length) return [];
  // A killed command reported its last line, but perhaps never printed it.
  const unprinted = own.some(({ goneAt }) => goneAt !== undefined) ? (own.at(-1)?.lines.at(-1) ?? '') : '';
  if (unprinted !== '' && command.length >= printed.length - unprinted.length - 1) return [];
  // After a termination nobody was left to ship the rest.
  if (deeds.some((deed) => deed.kind === 'terminate' && deed.job === job.id)) return [];
  const seen = results.find(({ id }) => id === job.id);
  if (!seen?.isClosed) return [];
  const words = [...others, ...(log?.lost ?? '').split('\n'), ...(seen.jobLog ?? '').split('\n')];
  if (words.some((line) => SAID.test(line) && ABOUT_OUTPUT.test(line))) return [];
  const missing = printed.slice(command.length).split('\n').length - 1;
  const text = `${placeOf(place)}: ${missing} of ${printed.split('\n').length - 1} lines are not stored, and nothing says so`;
  return [{ count: 'missing tails that are not said', subject, text }];
}

/** The command's own lines, and those of jobctl. The command's last line may be cut off. */
function split(text: string): { readonly command: string; readonly others: readonly string[] } {
  const lines = text.split(/(?<=\n)/u);
  const isOwn = (line: string): boolean => line.startsWith(COMMAND_LINE) || COMMAND_LINE.startsWith(line);
  return { command: lines.filter(isOwn).join(''), others: lines.filter((line) => !isOwn(line)) };
}

function difference(printed: string, stored: string): string {
  const [wanted, got] = [printed.split('\n'), stored.split('\n')];
  const at = got.findIndex((line, index) => line !== wanted[index]);
  return `stored line ${at + 1} is '${got[at]}', printed was '${wanted[at] ?? 'nothing more'}'`;
}
