import type { CloudEvent } from './rehearsal-admin.js';

/** What the cloud itself knows of a job's requests at one moment, by its journal. */
export interface CloudNow {
  /** By name: requests and nodes that are there, with the states that they have been in; the last is the present one. */
  readonly there: ReadonlyMap<string, { readonly zone: string; readonly states: readonly string[] }>;
  /** What creates were answered with, by zone. */
  readonly refused: ReadonlyMap<string, ReadonlySet<string>>;
  /** Zones in which a node of anybody's was READY. */
  readonly gave: ReadonlySet<string>;
  /** Zones of the job's create calls, in order. */
  readonly asked: readonly string[];
  /** Names in the job's create calls. */
  readonly created: ReadonlySet<string>;
}

/** Zones that a sentence names. */
export const zonesIn = (line: string): readonly string[] => [...new Set(line.match(/\b[a-z]+-[a-z]+\d+-[a-z]\b/g))];

const zoneIn = (subject: string): string => /\/locations\/([^/]+)/.exec(subject)?.[1] ?? '';

export function cloudNow(events: readonly CloudEvent[], job: string): CloudNow {
  const there = new Map<string, { zone: string; states: string[] }>();
  const refused = new Map<string, Set<string>>();
  const gave = new Set<string>();
  const asked: string[] = [];
  const created = new Set<string>();
  for (const { kind, subject, details } of events) {
    const zone = zoneIn(subject);
    const name = subject.slice(subject.lastIndexOf('/') + 1);
    if (kind === 'node-state' && details.to === 'READY') gave.add(zone);
    const isCreate = kind === 'api-call' && details.method?.startsWith('Create') === true;
    if (isCreate && details.message !== undefined)
      refused.set(zone, (refused.get(zone) ?? new Set()).add(details.message));
    if (kind === 'operation' && details.error?.message !== undefined)
      refused.set(zone, (refused.get(zone) ?? new Set()).add(details.error.message));
    if (!name.startsWith(`jc-${job}-`)) continue;
    if (isCreate) {
      asked.push(zone);
      created.add(name);
    }
    if (kind !== 'queued-resource-state' && kind !== 'node-state') continue;
    if (details.to === 'gone') there.delete(name);
    else there.set(name, { zone, states: [...(there.get(name)?.states ?? []), details.to ?? ''] });
  }
  return { there, refused, gave, asked, created };
}

/** Of a queued resource that waits. */
const IN_LINE = new Set(['ACCEPTED', 'WAITING_FOR_RESOURCES']);
/** On its way out: nobody is asked by it any more. */
const LEAVING = new Set(['SUSPENDING', 'SUSPENDED', 'DELETING']);

/**
 * The sentences of `jobctl why` of a job without chips that are not so, by the cloud's own word; a sentence that is not known here is
 * none of them true.
 * @param isNow false: what was so a moment ago is true too, as a listing that is some seconds old says it
 */
export function untrueSentences(text: string, cloud: CloudNow, isNow: boolean): readonly string[] {
  return text.split('\n').filter((line) => line !== '' && !isTrue(line, cloud, isNow));
}

/** Whether a text, which may have been cut, is one of these. */
function saidSo(messages: ReadonlySet<string> | undefined, text: string): boolean {
  const said = text.replace(/ ?(?:\.\.|…)$/, '').trim();
  return said !== '' && [...(messages ?? [])].some((message) => message.startsWith(said));
}

const ANSWER =
  /^ {2}(\S+) refused .+? ago \([a-z-]+\)(, and is asked again( now| at (?:\w+ \d+ )?\d\d:\d\d, in [^:]+)?|, and has its next turn after (\S+?))?: (.*)$/;

function isTrue(line: string, cloud: CloudNow, isNow: boolean): boolean {
  const { there, refused, gave } = cloud;
  const present = [...there.values()].filter(({ states }) => !LEAVING.has(states.at(-1) ?? ''));
  const open = new Set(present.map(({ zone }) => zone));

  const head = /^\S+ is provisioning(?:, attempt \d+)?, for [^:]+: (.*)\. REHEARSAL: not on real Cloud TPUs\.$/.exec(
    line,
  );
  if (head) {
    const [, reason = '', next] =
      /^(.*?)(?:; if nothing comes before, (\S+) is asked at \S+ \S+ UTC)?$/.exec(head[1] ?? '') ?? [];
    if (next !== undefined && isNow && open.has(next)) return false;
    const [requests = '', ...answers] = reason.split(/; (?=\S+ refused(?:, a right is missing)?: )/);
    const told = answers.map((answer) => /^(\S+) refused(?:, a right is missing)?: (.*)$/.exec(answer));
    if (!told.every((each) => each !== null && saidSo(refused.get(each[1] ?? ''), each[2] ?? ''))) return false;
    const zones = zonesIn(requests);
    if (isNow && present.length > 0) return zones.length === open.size && zones.every((zone) => open.has(zone));
    return zones.length > 0 && zones.every((zone) => cloud.asked.includes(zone));
  }

  const slice = /^ {2}(\S+) in (\S+): (starting|lost)(?:, (.*))?$/.exec(line);
  if (slice) {
    const [, name = '', zone = '', state, detail = ''] = slice;
    const found = there.get(name);
    if (state === 'lost') return cloud.asked.includes(zone) && (found === undefined || found.zone === zone);
    const word = /\(([A-Z_]+)\)/.exec(detail)?.[1];
    if (word !== undefined && found !== undefined)
      return found.zone === zone && (isNow ? found.states.at(-1) === word : found.states.includes(word));
    if ([...(refused.get(zone) ?? [])].some((message) => detail.includes(message))) return true;
    return detail.startsWith(`asking ${zone}`) && (isNow ? found?.zone === zone : cloud.asked.includes(zone));
  }

  const answer = ANSWER.exec(line);
  if (answer) {
    const [, zone = '', again, asked, after, text = ''] = answer;
    // Asked again, or not yet.
    if (isNow && again !== undefined && open.has(zone) !== (asked === undefined && after === undefined)) return false;
    return saidSo(refused.get(zone), text) && after !== zone;
  }

  const next = /^If nothing comes before, (\S+) is asked (?:now|at (?:\w+ \d+ )?\d\d:\d\d, in .*)\.$/.exec(line);
  if (next) return !isNow || !open.has(next[1] ?? '');

  if (/^Google keeps the request in line until the zone has unused \w+ chips, and names neither /.test(line))
    return !isNow || present.some(({ states }) => states.some((state) => IN_LINE.has(state)));
  if (/^The zone refuses the request while it has no unused \w+ chips, and keeps no place in a line: /.test(line))
    return refused.size > 0;
  const elsewhere =
    /^For chips elsewhere: (another zone in tpu\.zones, )?pricing [\w -]+; that takes another job\.$/.exec(line);
  if (elsewhere) return elsewhere[1] === undefined || new Set(cloud.asked).size < 2;

  const seen =
    /^Seen by this pool's jobs: (\S+) gave a \S+ \(\w+\) within .*? ago(, and has refused one since)?\.$/.exec(line);
  return seen !== null && gave.has(seen[1] ?? '') && (seen[2] === undefined || refused.has(seen[1] ?? ''));
}
