import { lastPart } from './cloud.js';
import { type CommandProcess, placeOf, processesOf } from './commands.js';
import type { CloudEvent, Deed, Evidence, Told } from './evidence.js';
import type { Finding } from './verdict.js';

interface Scene {
  readonly at: number;
  readonly text: string;
}

/** Kinds that are not shown beside a deed, because its text says as much. */
const PLAIN: ReadonlySet<string> = new Set(['fault', 'submit', 'note']);

/** All deeds of chaos in order of time. For the subjects of findings also their commands' reports and the cloud's states. */
export function tellStory(evidence: Evidence, findings: readonly Finding[]): readonly string[] {
  const subjects = new Set(findings.map(({ subject }) => subject));
  const isAbout = (name: string): boolean =>
    [...subjects].some((subject) => name === subject || name.includes(`-${subject}-`));
  const { deeds, told, cloud } = evidence;
  const scenes = [
    ...deeds.map(deedScene),
    ...processesOf(told)
      .filter(({ job }) => subjects.has(job))
      .flatMap(processScenes),
    ...told.filter(({ kind, job }) => kind === 'GONE' && subjects.has(job)).map(goneScene),
    ...cloud.filter(({ kind, subject }) => kind.endsWith('-state') && isAbout(lastPart(subject))).map(cloudScene),
  ].toSorted((a, b) => a.at - b.at);
  const began = scenes[0]?.at ?? 0;
  return [
    ...findings.map(({ count, subject, text }) => `${count.toUpperCase()}: ${subject}: ${text}`),
    ...scenes.map(({ at, text }) => `${((at - began) / 1000).toFixed(1).padStart(7)} s  ${text}`),
  ];
}

const deedScene = ({ at, kind, text }: Deed): Scene => ({ at, text: PLAIN.has(kind) ? text : `${text} [${kind}]` });

function processScenes(each: CommandProcess): readonly Scene[] {
  const { begunAt, node, term, end, lines } = each;
  const who = `${each.job}: ${placeOf(each)}`;
  return [
    { at: begunAt, text: `${who}: begins on ${node}` },
    ...(term === undefined ? [] : [{ at: term.at, text: `${who}: hears SIGTERM, notice: ${term.notice || 'none'}` }]),
    ...(end === undefined ? [] : [{ at: end.at, text: `${who}: ends with ${end.code}, ${lines.length} lines` }]),
  ];
}

const goneScene = (told: Told): Scene => ({
  at: told.at,
  text: `${told.job}: ${placeOf(told)}: is gone without an END`,
});

const cloudScene = ({ wall, kind, subject, details: { from, to } }: CloudEvent): Scene => ({
  at: wall,
  text: `cloud: ${lastPart(subject)} (${kind === 'kubernetes-state' ? subject.split('/').at(-2) : kind.replace('-state', '')}): ${from} -> ${to}`,
});
