import { inProject } from '../quota-config.js';
import { amountOf, andList, demandOf, dueText, ordinal, reasonText, type Wording } from './explain-words.js';
import type { Remedy, WhyWaiting } from './why-waiting.js';

/** The sentences of `jobctl why` for a job that waits for its pool: the command line prints them, and the server gives them. */
export interface WhySentences {
  /** Its demand, and its place in line. */
  readonly head: string;
  /** Each reason, without a full stop. */
  readonly reasons: readonly string[];
  /** Events and changes that would help, and those that are due anyway. Empty: nothing is known. */
  readonly outlook: string;
}

export function whySentences(job: string, waiting: WhyWaiting, wording: Wording): WhySentences {
  const { why, admission } = waiting;
  const words = { ...wording, isDraining: admission === 'draining' };
  const behind = why.behind === undefined ? '' : `, behind ${words.nameOf(why.behind)}`;
  const place = why.position === 0 ? 'it starts now' : `${ordinal(why.position)} of ${why.of} in line${behind}`;
  return {
    head: `${job} waits for ${demandOf(why.units)} ${inProject(why.project)} (${place}).`,
    reasons: why.reasons.map((reason) => reasonText(reason, why, words)),
    outlook: outlook(waiting, words),
  };
}

function outlook({ why, remedies, short }: WhyWaiting, words: Wording): string {
  const least = short === undefined ? '' : `${amountOf(short.type, short.units)} have to come free at least`;
  const ends = remedies.flatMap((remedy) => (remedy.kind === 'priority' ? [] : [endsText(remedy, words)]));
  const priority = remedies.flatMap((remedy) => (remedy.kind === 'priority' ? [priorityText(remedy)] : []));
  const needs = [[least, ...ends].filter((part) => part !== '').join(': ')].filter((part) => part !== '');
  const due = why.due.map((time) => dueText(time, words));
  return [...needs, ...priority, ...due].map(asSentence).join(' ');
}

function endsText(remedy: Exclude<Remedy, { kind: 'priority' }>, words: Wording): string {
  const names = remedy.of.map(({ id, units }) => `${words.nameOf(id)} (${units})`);
  if (remedy.kind === 'all-end') return `the end of ${andList(names)} together would do`;
  return `the end of ${names.length === 1 ? names.join('') : `one of ${names.join(', ')}`} would do`;
}

function priorityText({ priority, starts }: Extract<Remedy, { kind: 'priority' }>): string {
  return `with priority ${priority} it would ${starts ? 'start' : 'be 1st'}`;
}

const asSentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
