import { lastPart } from './cloud.js';
import { placeOf, processesOf } from './commands.js';
import type { Evidence } from './evidence.js';
import type { Finding } from './verdict.js';

interface Scene {
  readonly at: number;
  readonly text: string;
}

/** Kinds that the text says itself. */
const PLAIN: ReadonlySet<string> = new Set(['fault', 'submit', 'note']);

/** What was done to whom, and when: all of chaos's deeds, and of what findings are about also what it said and what the cloud says. */
export function tellStory(evidence: Evidence, findings: readonly Finding[]): readonly string[] {
  const subjects = new Set(findings.map(({ subject }) => subject));
  const isAbout = (name: string): boolean =>
    [...subjects].some((subject) => name === subject || name.includes(`-${subject}-`));
  const scenes: Scene[] = [
    ...evidence.deeds.map(({ at, kind, text }) => ({ at, text: PLAIN.has(kind) ? text : `${text} [${kind}]` })),
    ...processesOf(evidence.told)
      .filter(({ job }) => subjects.has(job))
      .flatMap((each): Scene[] => {
        const who = `${each.job}: ${placeOf(each)}`;
        return [
          { at: each.begunAt, text: `${who}: begins on ${each.node}` },
          ...(each.term === undefined
            ? []
            : [{ at: each.term.at, text: `${who}: hears SIGTERM, notice: ${each.term.notice || 'none'}` }]),
          ...(each.end === undefined
            ? []
            : [{ at: each.end.at, text: `${who}: ends with ${each.end.code}, ${each.lines.length} lines` }]),
        ];
      }),
    ...evidence.told
      .filter(({ kind, job }) => kind === 'GONE' && subjects.has(job))
      .map((each) => ({ at: each.at, text: `${each.job}: ${placeOf(each)}: is gone without an END` })),
    ...evidence.cloud
      .filter(({ kind, subject }) => kind.endsWith('-state') && isAbout(lastPart(subject)))
      .map(({ wall, kind, subject, details }) => ({
        at: wall,
        text: `cloud: ${lastPart(subject)} (${kind.replace('-state', '')}): ${details.from} -> ${details.to}`,
      })),
  ];
  const inOrder = scenes.toSorted((a, b) => a.at - b.at);
  const began = inOrder[0]?.at ?? 0;
  return [
    ...findings.map(({ count, subject, text }) => `${count.toUpperCase()}: ${subject}: ${text}`),
    ...inOrder.map(({ at, text }) => `${((at - began) / 1000).toFixed(1).padStart(7)} s  ${text}`),
  ];
}
