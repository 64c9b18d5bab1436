import { BASTION_EVENTS, DEFAULT_TOPICS, isTold, TOPIC_WORDS, TOPICS } from '../job-events/topics.js';
import type { Told } from '../job-events/kinds.js';
import { nearestWord } from '../nearest-word.js';
import {
  isWorkflowTarget,
  type NotifyRule,
  type NotifyTarget,
  TARGET_WORDS,
  targetKey,
  type TargetWord,
  type WorkflowTarget,
} from '../notify.js';
import { isOwnSignal, isOwnWorkflowId } from '../temporal-server.js';
import { formatPath, type Path } from '../problem.js';
import { SECRET_NAME, SECRET_NAME_RULE } from '../secrets.js';
import { isMapping, valueAt } from './plain-tree.js';
import { Report } from './report.js';
import { type JobFile, jobFileSchema } from './sections.js';

/**
 * Longest id or signal name that Temporal's server stores on PostgreSQL, in characters. A longer one would fail the job's
 * workflow task again and again.
 */
const MOST_ID = 255;
/** Most rules of a job. Each target that is told of an event adds an event to the workflow's history. */
const MOST_RULES = 10;
const MOST_ADDRESSES = 10;
const MOST_URL = 2_000;
/** Limit of a mail address, in characters, by RFC 5321. */
const MOST_ADDRESS = 254;
/** Temporal's SDKs reserve these names. */
const RESERVED_SIGNAL = /^__temporal/;

type Section = NonNullable<JobFile['notify']>;
type RuleSection = Exclude<Section, readonly unknown[]>;
type TargetSection = NonNullable<RuleSection['to']>;

const EXAMPLE = 'such as notify: {on: [preempted, ended], to: {workflow: {id: my-workflow, signal: jobNews}}}';

/** The rules of a job's `notify`: who is told of which events. */
export function resolveNotify(section: JobFile['notify'], report: Report): readonly NotifyRule[] {
  if (!section) return [];
  if (!Array.isArray(section)) return resolveRule(section, ['notify'], report);
  if (section.length > MOST_RULES) {
    report.problem(['notify'], section, `has ${section.length} rules`, `${MOST_RULES} at most`);
    return [];
  }
  const rules = section.flatMap((one, index) => resolveRule(one, ['notify', index], report));
  const keys = section.map(({ to }) => JSON.stringify(to ?? {}));
  keys.forEach((key, index) => {
    const first = keys.indexOf(key);
    if (first === index || key === '{}') return;
    const hint = `put the topics of both into one list: on: [..] in notify[${first}]`;
    report.problem(['notify', index, 'to'], section[index]?.to, `is the target of notify[${first}] too`, hint);
  });
  return rules;
}

function resolveRule({ on, to }: RuleSection, path: Path, report: Report): readonly NotifyRule[] {
  const topics = resolveTopics(on, [...path, 'on'], report);
  const place = [...path, 'to'];
  const words = TARGET_WORDS.filter((word) => (to?.[word] ?? undefined) !== undefined);
  const [word, other] = words;
  if (to === null || to === undefined || word === undefined) {
    // A key that stands in the wrong place is reported as such.
    const isDropped = TARGET_WORDS.some(
      (each) => report.wasDropped([...path, each]) || report.wasDropped([...place, each]),
    );
    if (to?.secret) report.problem([...place, 'secret'], to.secret, 'has no webhook that it signs', 'add webhook: URL');
    else if (!isDropped) report.missing(place, `one of ${TARGET_WORDS.join(', ')}, ${EXAMPLE}`);
    return [];
  }
  if (other !== undefined) {
    const hint = 'a target is one of them; several targets are a list: notify: [{to: ..}, {to: ..}]';
    report.problem(place, to, `has ${words.join(' and ')}`, hint);
    return [];
  }
  if (word !== 'webhook' && to.secret)
    report.problem([...place, 'secret'], to.secret, 'belongs to webhook, which this target has not', 'leave it out');
  const target = resolveTarget(word, to, place, report);
  return target === undefined ? [] : [{ on: topics, to: target }];
}

function resolveTopics(on: RuleSection['on'], path: Path, report: Report): readonly string[] {
  if (!on) return DEFAULT_TOPICS;
  if (on.length === 0) report.problem(path, on, 'is an empty list', 'leave it out for [ended], or remove the rule');
  on.forEach((word, index) => {
    const place = [...path, index];
    if (on.indexOf(word) < index) report.wrong(place, word, 'in the list twice', 'keep one');
    if (TOPIC_WORDS.includes(word)) return;
    const bastions = Object.hasOwn(BASTION_EVENTS, word) ? BASTION_EVENTS[word] : undefined;
    const nearest = nearestWord(word, TOPIC_WORDS);
    const hints = [
      ...(bastions === undefined ? [] : [`what Bastion calls ${word} is ${bastions} here`]),
      ...(bastions !== undefined || nearest === undefined ? [] : [`did you mean ${nearest}?`]),
      `topics: ${Object.keys(TOPICS).join(', ')}, or a kind of event by its name (docs/notify.md)`,
    ];
    report.wrong(place, word, 'no topic', hints.join('\n'));
  });
  return on;
}

/** Undefined if the target is wrong, which is then reported. */
function resolveTarget(word: TargetWord, to: TargetSection, path: Path, report: Report): NotifyTarget | undefined {
  const before = report.problems.length;
  const target = targetOf(word, to, path, report);
  return report.problems.length === before ? target : undefined;
}

function targetOf(word: TargetWord, to: TargetSection, path: Path, report: Report): NotifyTarget | undefined {
  switch (word) {
    case 'workflow':
      return workflowTarget(to.workflow ?? {}, [...path, word], report);
    case 'webhook': {
      const problem = urlProblem(to.webhook ?? '');
      if (problem !== undefined) report.wrong([...path, word], shownUrl(to.webhook ?? ''), problem.what, problem.hint);
      const secret = secretName(to.secret, [...path, 'secret'], SIGNING_KEY, report);
      return to.webhook && secret !== undefined ? { webhook: to.webhook, secret } : undefined;
    }
    case 'slack': {
      const secret = secretName(to.slack?.secret, [...path, word, 'secret'], HOOK_URL, report);
      return secret === undefined ? undefined : { slack: { secret } };
    }
    case 'mail':
      return { mail: addresses(to.mail ?? [], [...path, word], report) };
    case 'channel': {
      const channel = to.channel ?? '';
      if (!SECRET_NAME.test(channel))
        report.wrong([...path, word], channel, 'no name of a channel', 'a letter, then letters, digits, - and _');
      return { channel };
    }
  }
}

const SIGNING_KEY = 'the name of the secret with its signing key: jobctl secret put NAME (docs/notify.md)';
const HOOK_URL = 'the name of the secret with the URL of the incoming webhook: jobctl secret put NAME (docs/notify.md)';

function secretName(name: string | null | undefined, path: Path, hint: string, report: Report): string | undefined {
  if (!name) {
    report.missing(path, hint);
    return undefined;
  }
  // The value may be the secret itself, so it is not repeated.
  if (!SECRET_NAME.test(name))
    report.problem(path, undefined, 'is no name of a secret', `${SECRET_NAME_RULE}\n${hint}`);
  return name;
}

function workflowTarget(
  given: NonNullable<TargetSection['workflow']>,
  path: Path,
  report: Report,
): WorkflowTarget | undefined {
  for (const key of ['id', 'signal'] as const) {
    const place = [...path, key];
    const value = given[key];
    if (!value) report.missing(place, EXAMPLE);
    else if (value.length > MOST_ID)
      report.wrong(place, value, `too long: ${value.length} characters`, `${MOST_ID} at most`);
    else if (key === 'signal' && RESERVED_SIGNAL.test(value))
      report.wrong(place, value, 'a name that Temporal keeps for itself', 'take another name');
    else if (key === 'signal' && isOwnSignal(value))
      report.wrong(place, value, 'a signal between the workflows of jobctl', 'take another name, such as jobEnded');
    else if (key === 'id' && isOwnWorkflowId(value))
      report.wrong(place, value, 'a workflow of jobctl itself', 'name a workflow of yours');
  }
  const { id, signal } = given;
  return id && signal ? { workflow: { id, signal } } : undefined;
}

// Addresses ------------------------------------------------------------------------------------------------------------

const HOST = /^(?:\[[0-9a-f:.]+\]|[a-z0-9][a-z0-9.-]*)(?::\d{1,5})?$/i;
const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/i;
const URL_CHARACTERS = /^[!-~]+$/;

/** Returns the problem of a webhook URL. A worker checks the address that it leads to when it connects. */
export function urlProblem(url: string): { readonly what: string; readonly hint: string } | undefined {
  const hint = 'such as https://example.org/jobs';
  if (url.length > MOST_URL) return { what: `too long: ${url.length} characters`, hint: `${MOST_URL} at most` };
  if (!URL_CHARACTERS.test(url) || url.includes('\\'))
    return { what: 'no URL', hint: `printable ASCII without blanks, ${hint}` };
  const scheme = /^https?:\/\//i.exec(url)?.[0].toLowerCase();
  if (scheme === undefined) return { what: 'no https URL', hint };
  const [host = ''] = url.slice(scheme.length).split(/[/?#]/, 1);
  if (host.includes('@'))
    return { what: 'a URL with a login', hint: `leave out what stands before @: the signature proves the sender` };
  if (!HOST.test(host)) return { what: 'a URL without a host', hint };
  if (url.includes('#')) return { what: 'a URL with a fragment', hint: 'leave out # and what follows' };
  if (scheme === 'http://' && !LOOPBACK.test(host))
    return {
      what: 'not https',
      hint: 'http is for this computer alone (http://127.0.0.1:PORT), if its worker allows it',
    };
  return undefined;
}

/** A URL for messages, without its user and password. */
const shownUrl = (url: string): string => url.replace(/\/\/[^/@]*@/, '//..@');

function addresses(list: readonly string[], path: Path, report: Report): readonly string[] {
  if (list.length === 0) report.problem(path, list, 'is an empty list', 'such as mail: [ann@example.org]');
  if (list.length > MOST_ADDRESSES)
    report.problem(path, list, `has ${list.length} addresses`, `${MOST_ADDRESSES} at most; a mailing list has more`);
  list.forEach((address, index) => {
    const place = [...path, index];
    if (list.indexOf(address) < index) report.wrong(place, address, 'in the list twice', 'keep one');
    else if (!isMailAddress(address)) report.wrong(place, address, 'no mail address', 'such as ann@example.org');
  });
  return list;
}

const LOCAL_PART = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}$/;
const LABEL = /^[A-Za-z0-9-]{1,63}$/;

/** A bare address in ASCII: no name, comment, quotes or line end, which could add headers or other recipients. */
export function isMailAddress(address: string): boolean {
  const [local = '', domain = '', ...more] = address.split('@');
  const labels = domain.split('.');
  return (
    address.length <= MOST_ADDRESS &&
    more.length === 0 &&
    LOCAL_PART.test(local) &&
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label) && !label.startsWith('-') && !label.endsWith('-'))
  );
}

// Before a job is accepted -----------------------------------------------------------------------------------------------

/** Hint for a key of a target that stands in the rule itself. @param path the wrong key's path from the top */
export function targetKeyHint(path: Path, value: unknown): string | undefined {
  const key = TARGET_WORDS.find((word) => word === path.at(-1));
  const isRule = path[0] === 'notify' && (path.length === 2 || (path.length === 3 && typeof path[1] === 'number'));
  if (key === undefined || !isRule) return undefined;
  const shown = formatPath(path.slice(0, -1));
  return `write it below to: ${shown}: {to: {${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}}}`;
}

/**
 * Workflows that are told of the end of a job that no worker accepted. Empty if `notify` itself is wrong or refers to another
 * value (`${..}`), because that value may be the wrong one.
 * @param told the event that the end is told as
 */
export function readableNotify(job: unknown, told: Told): readonly WorkflowTarget[] {
  if (!isMapping(job)) return [];
  const form = jobFileSchema().shape.notify.safeParse(valueAt(job, ['notify']));
  if (!form.success) return [];
  const report = new Report([]);
  const rules = resolveNotify(form.data, report);
  if (report.problems.length > 0) return [];
  return rules
    .filter(({ on }) => isTold(on, told))
    .map(({ to }) => to)
    .filter(isWorkflowTarget)
    .filter((target) => !targetKey(target).includes('${'));
}
