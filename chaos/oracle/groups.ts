import { attemptsOf, type CommandProcess, processesOf } from './commands.js';
import type { AskedGroup, AskedJob, Deed, Evidence, SeenGroup, SeenJob } from './evidence.js';
import type { Finding } from './verdict.js';

/** Place of a job in its group, from its id: `GROUP-INDEX`, after the n-th retry `GROUP-rN-INDEX` (docs/cli.md). */
interface Place {
  readonly index: number;
  readonly round: number;
}
const PLACE = /^(?:r(?<round>\d+)-)?(?<index>\d+)$/u;

export function placeIn({ id: group }: Pick<AskedGroup, 'id'>, id: string): Place | undefined {
  if (!id.startsWith(`${group}-`)) return undefined;
  const { round = '0', index } = PLACE.exec(id.slice(group.length + 1))?.groups ?? {};
  return index === undefined ? undefined : { index: Number(index), round: Number(round) };
}

/** What people do to a group, they do to each of its members. */
const FOR_MEMBERS: ReadonlySet<string> = new Set(['verb', 'cancel']);

/** Adds the members of groups, as far as anybody saw them, to the jobs. Pure. */
export function withMembers(evidence: Evidence): Evidence {
  const { groups = [], told, results, jobs, deeds } = evidence;
  if (groups.length === 0) return evidence;
  const seen = new Set([...told.map(({ job }) => job), ...results.map(({ id }) => id)]);
  const members = groups.flatMap(({ id: group, slices, hosts, taskRetries }) =>
    [...seen].flatMap((id): readonly AskedJob[] =>
      placeIn({ id: group }, id) === undefined ? [] : [{ id, slices, hosts, taskRetries, group }],
    ),
  );
  const forMembers = deeds.flatMap((deed): readonly Deed[] =>
    FOR_MEMBERS.has(deed.kind)
      ? members.filter(({ group }) => group === deed.job).map(({ id }) => ({ ...deed, job: id }))
      : [],
  );
  return { ...evidence, jobs: [...jobs, ...members], deeds: [...deeds, ...forMembers] };
}

export function groupFindings(evidence: Evidence): readonly Finding[] {
  const { groups = [] } = evidence;
  const scene = sceneOf(evidence);
  return [
    ...groups.flatMap((group) => [
      ...lostOrMadeUp(scene, group),
      ...tooManyAtOnce(scene, group),
      ...wrongTable(scene, group),
    ]),
    ...tooEarly(scene),
  ];
}

/** When the command of a job ran: from its first start to the end of its last attempt. */
interface Run {
  readonly from: number;
  /** Infinity: its end was never told. */
  readonly to: number;
}

interface Scene {
  readonly evidence: Evidence;
  readonly runs: ReadonlyMap<string, Run>;
  readonly seen: ReadonlyMap<string, SeenJob>;
}

function sceneOf(evidence: Evidence): Scene {
  const processes = processesOf(evidence.told);
  const runs = evidence.jobs.flatMap(({ id }) => {
    const attempts = attemptsOf(processes, id);
    const [first] = attempts;
    if (first === undefined) return [];
    const from = Math.min(...first.processes.map(({ begunAt }) => begunAt));
    return [[id, { from, to: Math.max(...(attempts.at(-1)?.processes ?? []).map(endOf)) }] as const];
  });
  return { evidence, runs: new Map(runs), seen: new Map(evidence.results.map((job) => [job.id, job])) };
}

const endOf = ({ end, goneAt }: CommandProcess): number => end?.at ?? goneAt ?? Infinity;

const wasDone = ({ evidence }: Scene, kind: Deed['kind'], job: string, until = Infinity): boolean =>
  evidence.deeds.some((deed) => deed.kind === kind && deed.job === job && deed.at <= until);

/** The members of a group, by index: their ids in the order of rounds. */
function membersOf({ evidence }: Scene, group: AskedGroup): ReadonlyMap<number, readonly string[]> {
  const members = evidence.jobs
    .filter((job) => job.group === group.id)
    .map(({ id }) => ({ id, ...(placeIn(group, id) as Place) }));
  const indexes = [...new Set(members.map(({ index }) => index))].toSorted((a, b) => a - b);
  return new Map(
    indexes.map((at) => [
      at,
      members
        .filter(({ index }) => index === at)
        .toSorted((a, b) => a.round - b.round)
        .map(({ id }) => id),
    ]),
  );
}

const phaseOf = ({ seen }: Scene, id: string | undefined): string | undefined => seen.get(id ?? '')?.phase;
const FAILURES: ReadonlySet<string> = new Set(['failed', 'terminated', 'refused']);

/** Whether `fail_fast` may have ended members of the group. */
function failedFast(scene: Scene, group: AskedGroup, except?: string): boolean {
  if (group.isFailFast !== true) return false;
  const ids = [...membersOf(scene, group).values()].flat();
  return ids.some((id) => id !== except && FAILURES.has(phaseOf(scene, id) ?? ''));
}

/** Why a member may never have begun, or have been cancelled though nobody cancelled it alone. */
function mayEnd(scene: Scene, group: AskedGroup, member?: string): boolean {
  return (
    wasDone(scene, 'cancel', group.id) ||
    failedFast(scene, group, member) ||
    (group.after !== undefined && cannotBegin(scene, group.after))
  );
}

/** Whether a job that is called cancelled may be so without a cancel of its own: by its group, or by those that it waits for. */
export function isCancelledByOthers(evidence: Evidence, job: AskedJob): boolean {
  const scene = sceneOf(evidence);
  const group = evidence.groups?.find(({ id }) => id === job.group);
  if (group !== undefined) return mayEnd(scene, group, job.id);
  return job.after !== undefined && cannotBegin(scene, job.after);
}

// Members -------------------------------------------------------------------------------------------------------------

function lostOrMadeUp(scene: Scene, group: AskedGroup): readonly Finding[] {
  const { evidence } = scene;
  const finding = (text: string): Finding => ({ count: 'members lost or made up', subject: group.id, text });
  const members = membersOf(scene, group);
  const retries = evidence.deeds.filter(({ kind, job }) => kind === 'retry' && job === group.id).length;
  const mayBeMissing = wasDone(scene, 'group-terminated', group.id) || mayEnd(scene, group);
  const missing = Array.from({ length: group.size }, (_, index) => index).filter((index) => !members.has(index));
  const beyond = [...members.keys()].filter((index) => index >= group.size);
  const again = [...members.values()].flat().filter((id) => (placeIn(group, id)?.round ?? 0) > retries);
  const afterSuccess = [...members.values()].flatMap((rounds) =>
    rounds.filter((_, at) => at > 0 && phaseOf(scene, rounds[at - 1]) === 'succeeded'),
  );
  return [
    ...(mayBeMissing
      ? []
      : missing.map((index) => finding(`member ${index} never came, and nothing kept it from that`))),
    ...beyond.map((index) => finding(`member ${index} came, and it has ${group.size}`)),
    ...again.map((id) => finding(`${id} came, and people retried the group ${retries} times`)),
    ...afterSuccess.map((id) => finding(`${id} came although that member had succeeded`)),
  ];
}

/** Who ended one of these from outside takes its place away before its command has ended. */
const ENDED_FROM_OUTSIDE = ['terminate', 'cancel'] as const;

function tooManyAtOnce(scene: Scene, group: AskedGroup): readonly Finding[] {
  const { maxParallel = Infinity } = group;
  const runs = [...membersOf(scene, group).values()].flat().flatMap((id) => {
    const run = scene.runs.get(id);
    const isOut = ENDED_FROM_OUTSIDE.some((kind) => wasDone(scene, kind, id));
    return run === undefined || isOut ? [] : [{ id, ...run }];
  });
  const crowd = runs
    .map(({ from }) => runs.filter((other) => other.from <= from && other.to > from).map(({ id }) => id))
    .find((ids) => ids.length > maxParallel);
  if (crowd === undefined) return [];
  const text = `${crowd.join(', ')} ran at once, and ${maxParallel} may`;
  return [{ count: 'more members at once than allowed', subject: group.id, text }];
}

// Tables --------------------------------------------------------------------------------------------------------------

/** Words of a table for members that have no job, or whose cancel has another word there. */
const UNBEGUN = ['cancelled', 'skipped by fail_fast', 'never begun'];

function wrongTable(scene: Scene, group: AskedGroup): readonly Finding[] {
  const { groupsSeen = [] } = scene.evidence;
  const finding = (text: string): readonly Finding[] => [{ count: 'wrong tables of groups', subject: group.id, text }];
  const shown = groupsSeen.find(({ id }) => id === group.id);
  if (shown === undefined) return finding('nobody knows the group');
  if (!shown.isClosed)
    return [{ count: 'jobs stuck', subject: group.id, text: `the group is open: ${JSON.stringify(shown.counts)}` }];
  // Made of lists: it has no word of its own.
  if (wasDone(scene, 'group-terminated', group.id)) return [];
  const members = membersOf(scene, group);
  const wrong = Array.from({ length: group.size }, (_, index) =>
    wrongRow(scene, shown, index, members.get(index)),
  ).find((text) => text !== undefined);
  return wrong === undefined ? wrongCounts(scene, shown, members, finding) : finding(wrong);
}

function wrongRow(
  scene: Scene,
  { members }: SeenGroup,
  index: number,
  rounds: readonly string[] = [],
): string | undefined {
  const row = members.find((each) => each.index === index);
  if (row === undefined) return `it has no row of member ${index}`;
  const last = rounds.at(-1);
  if (last === undefined)
    return UNBEGUN.includes(row.phase) ? undefined : `member ${index} never came, and is shown as ${row.phase}`;
  // A later round that never came: the group was cancelled before.
  if (row.id !== last)
    return UNBEGUN.includes(row.phase)
      ? undefined
      : `the last job of member ${index} is ${last}, and it shows ${row.id}`;
  const phase = phaseOf(scene, last);
  return row.phase === phase ? undefined : `${last} is shown as ${row.phase}, and is ${phase}`;
}

function wrongCounts(
  scene: Scene,
  { counts, members: rows }: SeenGroup,
  members: ReadonlyMap<number, readonly string[]>,
  finding: (text: string) => readonly Finding[],
): readonly Finding[] {
  const { open = 0, waiting = 0 } = counts;
  if (open + waiting > 0) return finding(`it has ended, and counts ${open} open and ${waiting} waiting members`);
  for (const word of ['succeeded', 'failed', 'terminated']) {
    const number = rows.filter(
      ({ index, id }) => phaseOf(scene, members.get(index)?.at(-1)) === word && members.get(index)?.at(-1) === id,
    ).length;
    if ((counts[word] ?? 0) !== number)
      return finding(`it counts ${counts[word] ?? 0} ${word} members, and there are ${number}`);
  }
  return [];
}

// Turns ---------------------------------------------------------------------------------------------------------------

type After = NonNullable<AskedGroup['after']>;
/** Tolerance for the clocks of two processes. */
const SLACK_MS = 200;

/** Jobs and members that began before those had ended that they wait for, or though these ended otherwise. */
function tooEarly(scene: Scene): readonly Finding[] {
  const { jobs, groups = [] } = scene.evidence;
  const singles = jobs.flatMap(({ id, after, group }) =>
    after === undefined || group !== undefined ? [] : [{ id, after, ids: [id] }],
  );
  const whole = groups.flatMap((group) =>
    group.after === undefined
      ? []
      : [{ id: group.id, after: group.after, ids: [...membersOf(scene, group).values()].flat() }],
  );
  return [...singles, ...whole].flatMap(({ id, after, ids }): readonly Finding[] => {
    const at = Math.min(...ids.flatMap((each) => scene.runs.get(each)?.from ?? []));
    // A person may let it begin.
    if (at === Infinity || wasDone(scene, 'begin', id, at)) return [];
    const why = notDue(scene, after, at);
    return why === undefined ? [] : [{ count: 'begun before their turn', subject: id, text: `it began, and ${why}` }];
  });
}

/**
 * When a job had ended, as far as those that wait for it are concerned: its outcome may be known long before its workflow closes
 * (docs/adr/0158). By its command's own word, its stored events, or the list, whichever comes first.
 */
function endedAt({ runs, seen }: Scene, id: string): number {
  const { isClosed = false, endedAt: closedAt = Infinity, events = [] } = seen.get(id) ?? {};
  if (!isClosed) return Infinity;
  const outcome = events.find(({ kind }) => OUTCOMES.has(kind))?.at ?? Infinity;
  return Math.min(runs.get(id)?.to ?? Infinity, outcome, closedAt);
}
const OUTCOMES: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);

/** Why the turn of those that wait had not come, or undefined. */
function notDue(scene: Scene, { kind, of }: After, at: number): string | undefined {
  const group = scene.evidence.groups?.find(({ id }) => id === of);
  if (group === undefined) {
    const { phase } = scene.seen.get(of) ?? {};
    if (endedAt(scene, of) > at + SLACK_MS) return `${of} had not ended`;
    return isAsWanted(kind, phase === 'succeeded') ? undefined : `${of} was ${phase}`;
  }
  // Whoever ended it from outside left its members to themselves, and a retry runs them again.
  if (wasDone(scene, 'group-terminated', of) || wasDone(scene, 'retry', of)) return undefined;
  const members = [...membersOf(scene, group).values()].flat();
  const open = members.find((id) => endedAt(scene, id) > at + SLACK_MS);
  if (open !== undefined) return `${open} had not ended`;
  const isSuccess = members.length === group.size && members.every((id) => phaseOf(scene, id) === 'succeeded');
  return isAsWanted(kind, isSuccess) ? undefined : `${of} had ${isSuccess ? 'succeeded' : 'not succeeded'}`;
}

const isAsWanted = (kind: After['kind'], isSuccess: boolean): boolean =>
  kind === 'any' || (kind === 'ok') === isSuccess;

/** Whether those that wait can never begin. */
function cannotBegin(scene: Scene, { kind, of }: After): boolean {
  if (kind === 'any') return false;
  const group = scene.evidence.groups?.find(({ id }) => id === of);
  if (group === undefined) return !isAsWanted(kind, phaseOf(scene, of) === 'succeeded');
  const rounds = [...membersOf(scene, group).values()];
  const succeeded = (ids: readonly string[]): boolean => ids.some((id) => phaseOf(scene, id) === 'succeeded');
  const wasSuccess = rounds.length === group.size && rounds.every(succeeded);
  // A retry may have made a success of what had ended otherwise, after those that wait had heard of it.
  return wasDone(scene, 'retry', of) || !isAsWanted(kind, wasSuccess);
}
