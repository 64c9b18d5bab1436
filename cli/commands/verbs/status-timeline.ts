import type { StoreReader } from '../../../cloud/store/port.js';
import type { ShownEvent } from '../../../domain/job-events/event.js';
import type { SetUpRecord, SetUpStepRecord } from '../../../domain/set-up-record.js';
import { setUpPrefix } from '../../../domain/store-layout.js';
import type { JobClient } from '../../../client/job-client.js';
import { storedEvents } from '../../../client/job-logs.js';
import { readSetUp } from '../../../client/job-records.js';
import type { JobRow } from '../../../client/job-rows.js';
import { openReader } from '../../place/connect.js';
import { type CliContext, storeOf } from '../../place/context.js';
import type { JobAnswer } from '../../jobs/many/chosen-jobs.js';
import { lookOf, type Colour, type Look } from '../../terminal/render/look.js';
import {
  timelineOf,
  type HostSpans,
  type ModuleSpan,
  type SetUpSpans,
  type Span,
  type Timeline,
} from '../../jobs/timeline.js';
import { openJobLog } from '../../jobs/watch/job-log.js';
import { count } from '../../../domain/units.js';
import { formatExactDuration } from '../../terminal/render/quantities.js';
import { cutToWidth, oneLine, padToWidth } from '../../terminal/render/columns.js';

/** Number of set-ups shown: the last ones of a job that loops. */
const SHOWN_SET_UPS = 20;

/** `jobctl status JOB --timeline`. For an ended job, everything is read from the store, so no worker is needed. */
export async function timelineAnswer(client: JobClient, context: CliContext, row: JobRow): Promise<JobAnswer> {
  const store = await openReader(storeOf(context, `the timeline of ${row.id} cannot be read`));
  const [events, setUps] = await Promise.all([eventsOf(client, store, row), setUpsOf(store, row)]);
  const { id, submittedAt, endedAt } = row;
  const facts = { submittedAt, ...(endedAt === undefined ? {} : { endedAt }), events, setUps };
  const timeline = timelineOf(facts, Date.now());
  return { text: renderTimeline(id, timeline, lookOf(process.stdout, process.env)).join('\n'), json: { ...timeline } };
}

function eventsOf(client: JobClient, store: StoreReader, row: JobRow): Promise<readonly ShownEvent[]> {
  const stored = (): Promise<readonly ShownEvent[]> => storedEvents(store, row.id);
  return row.endedAt === undefined ? openJobLog(client, row.id, { known: (events) => events, stored }) : stored();
}

/** The stored set-ups, not those that the row counts: an attempt whose set-up was cut short is not counted. */
export async function setUpsOf(
  store: Pick<StoreReader, 'list' | 'read'>,
  { id }: Pick<JobRow, 'id'>,
): Promise<readonly { readonly attempt: number; readonly record: SetUpRecord }[]> {
  const names = (await store.list(setUpPrefix(id))).map(({ name }) => name);
  const stored = names.flatMap((name) => /\/a(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number);
  const numbers = stored.toSorted((a, b) => a - b).slice(-SHOWN_SET_UPS);
  const found = await Promise.all(numbers.map((attempt) => readSetUp(store, id, attempt)));
  return found.filter((one) => one !== undefined);
}

/** Width in a pipe, which has no terminal width. */
const USUAL_WIDTH = 100;
const LEAST_BAR = 20;
const SHOWN_PHASES = 30;
const SHOWN_HOSTS = 16;

/** `jobctl status --timeline`: phases over the job's whole time, then each set-up over its own time with one line per host. */
export function renderTimeline(id: string, timeline: Timeline, look: Look): readonly string[] {
  const width = look.width ?? USUAL_WIDTH;
  const [last, ...before] = timeline.setUps.toReversed();
  return [
    `${id}   ${lasted(timeline)} from ${new Date(timeline.startedAt).toISOString().slice(0, 19)}Z`,
    ...phaseLines(timeline, width, look),
    ...before.toReversed().map((setUp) => `\n${summary(setUp)}`),
    ...(last === undefined ? [] : ['', ...setUpLines(last, width, look)]),
  ];
}

const lasted = ({ startedAt, endedAt }: Span): string => formatExactDuration(endedAt - startedAt);

function phaseLines(timeline: Timeline, width: number, { symbols, paint }: Look): readonly string[] {
  const shown = timeline.phases.slice(-SHOWN_PHASES);
  const cut = timeline.phases.length - shown.length;
  const head = (phase: string, time: string): string => `  ${padToWidth(phase, 13)}${time.padStart(9)}  `;
  const columns = Math.max(LEAST_BAR, Math.min(60, width - head('', '').length - 30));
  // Hidden phases do not count for the scale either.
  const whole = {
    startedAt: cut > 0 ? (shown[0]?.startedAt ?? timeline.startedAt) : timeline.startedAt,
    endedAt: timeline.endedAt,
  };
  const rows = shown.map((span) => {
    const { from, to } = place(span, whole, columns);
    const bar = ' '.repeat(from) + symbols.own.repeat(to - from) + ' '.repeat(columns - to);
    const why = cutToWidth(oneLine(span.why), Math.max(0, width - head('', '').length - columns - 2));
    return `${head(span.phase, lasted(span))}${paint(colourOf(span.phase), bar)}  ${why}`.trimEnd();
  });
  return [...(cut > 0 ? [`  .. ${count(cut, 'phase')} before`] : []), ...rows];
}

/** Highlights time that is paid for without training. */
function colourOf(phase: string): Colour {
  if (phase === 'running') return 'green';
  return phase === 'queued' || phase === 'released' ? 'dim' : 'yellow';
}

/** Columns of a span within the whole: at least one, so that every event is visible. */
function place(span: Span, whole: Span, columns: number): { readonly from: number; readonly to: number } {
  const length = Math.max(1, whole.endedAt - whole.startedAt);
  const at = (time: number): number => Math.round(((time - whole.startedAt) / length) * columns);
  const from = Math.min(columns - 1, Math.max(0, at(span.startedAt)));
  return { from, to: Math.min(columns, Math.max(from + 1, at(span.endedAt))) };
}

/** `set-up of attempt 2: 12s on 4 hosts; host 2 was the last, 6s after the first (venv: 9s, step install, 3 tries)`. */
function summary({ attempt, isOver, isCut, hosts, ...span }: SetUpSpans): string {
  const ends = hosts.toSorted((a, b) => a.endedAt - b.endedAt);
  const [first, last] = [ends[0], ends.at(-1)];
  const head = `set-up of attempt ${attempt}: ${lasted(span)} on ${count(hosts.length, 'host')}${isCut ? ', cut short' : isOver ? '' : ', not over yet'}`;
  if (first === undefined || last === undefined) return head;
  const slowest = last.modules.toSorted((a, b) => length(b) - length(a))[0];
  const by = slowest === undefined ? '' : ` (${moduleWords(slowest)})`;
  if (first === last) return `${head}${by}`;
  const behind = formatExactDuration(last.endedAt - first.endedAt);
  return `${head}; host ${last.host} was the last, ${behind} after the first${by}`;
}

const length = ({ startedAt, endedAt }: Span): number => endedAt - startedAt;

/** Duration of a step with all its tries. */
const stepLength = ({ startedAt, firstStartedAt, endedAt }: SetUpStepRecord): number =>
  (endedAt ?? Infinity) - (firstStartedAt ?? startedAt);

function moduleWords(span: ModuleSpan): string {
  const step = span.steps.toSorted((a, b) => stepLength(b) - stepLength(a))[0];
  const tries = step !== undefined && step.tries > 1 ? `, ${step.tries} tries` : '';
  const failed = span.outcome === 'failed' ? ', failed' : '';
  return `${span.module}: ${lasted(span)}, step ${step?.step ?? '?'}${tries}${failed}`;
}

function setUpLines(setUp: SetUpSpans, width: number, look: Look): readonly string[] {
  const letters = lettersOf(setUp.hosts.flatMap(({ modules }) => modules.map(({ module }) => module)));
  const shown = setUp.hosts.length <= SHOWN_HOSTS ? setUp.hosts : slowest(setUp.hosts);
  const hidden = setUp.hosts.length - shown.length;
  const columns = Math.max(LEAST_BAR, Math.min(70, width - 24));
  return [
    summary(setUp),
    ...shown.map((host) => hostLine(host, setUp, letters, columns, look)),
    ...(hidden > 0 ? [`  .. ${count(hidden, 'host')} more, all of them earlier: --output json has them`] : []),
    `  ${legend(letters)}`,
  ];
}

const slowest = (hosts: readonly HostSpans[]): readonly HostSpans[] =>
  hosts
    .toSorted((a, b) => b.endedAt - a.endedAt)
    .slice(0, SHOWN_HOSTS)
    .toSorted((a, b) => a.host - b.host);

const WAITS = '.';
const TRIES = '!';

function hostLine(
  host: HostSpans,
  whole: SetUpSpans,
  letters: ReadonlyMap<string, string>,
  columns: number,
  { paint }: Look,
): string {
  const bar = Array.from({ length: columns }, () => ' ');
  const draw = (span: Span, letter: string): void => {
    const { from, to } = place(span, whole, columns);
    bar.fill(letter, from, to);
  };
  const lastEnd = host.endedAt + host.waitedMs;
  if (host.waitedMs > 0) draw({ startedAt: host.endedAt, endedAt: lastEnd }, WAITS);
  for (const span of host.modules) draw(span, span.outcome === 'failed' ? TRIES : (letters.get(span.module) ?? '?'));
  const text = bar.join('');
  const isBad = host.modules.some(({ outcome }) => outcome === 'failed');
  const own = formatExactDuration(host.endedAt - whole.startedAt);
  return `  host ${String(host.host).padEnd(4)}${own.padStart(9)}  ${isBad ? paint('red', text) : text}`.trimEnd();
}

/** Assigns each module the first free letter of its name, to be easy to recognize: `venv` v, `verify` e. */
function lettersOf(modules: readonly string[]): ReadonlyMap<string, string> {
  const letters = new Map<string, string>();
  const taken = new Set([WAITS, TRIES]);
  for (const module of new Set(modules)) {
    const own =
      module === 'connect'
        ? '-'
        : Array.from(`${module}abcdefghijklmnopqrstuvwxyz0123456789`).find((letter) => !taken.has(letter));
    letters.set(module, own ?? '?');
    taken.add(own ?? '?');
  }
  return letters;
}

function legend(letters: ReadonlyMap<string, string>): string {
  const modules = [...letters].map(([module, letter]) => `${letter} ${module}`);
  return [...modules, `${WAITS} waits for the last host`, `${TRIES} failed`].join('   ');
}
