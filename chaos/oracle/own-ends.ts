import type { Evidence, Told } from './evidence.js';

/** Clocks of one computer, read by two processes. */
const SLACK_MS = 200;

/**
 * A SIGTERM that chaos sent to a command alone is no word of jobctl or of a host that shuts down: whatever the command does then is
 * an end of its own, code 0 too. The records as if it had ended so without a signal.
 */
export function withOwnEnds(evidence: Evidence): Evidence {
  const told = [...evidence.deeds]
    .filter(({ kind }) => kind === 'signalled')
    .reduce((all, { at, process }) => ownEnd(all, process, at), evidence.told);
  return { ...evidence, told };
}

function ownEnd(told: readonly Told[], process: string | undefined, at: number): readonly Told[] {
  const own = told.filter((each) => each.process === process);
  const terms = own.filter(({ kind }) => kind === 'TERM').toSorted((a, b) => a.number - b.number);
  const [term] = terms;
  // jobctl, or a shutdown, was first.
  if (term === undefined || term.at < at - SLACK_MS || term.text !== '') return told;
  const hasEnded = own.some(({ kind }) => kind === 'END');
  return told.flatMap((each): readonly Told[] => {
    if (each.process !== process) return [each];
    if (each.kind === 'TERM') return each.number === term.number ? [] : [each];
    if (each.kind === 'END') return [{ ...each, text: each.text.replace(/early$/u, 'all') }];
    // 128 and the number of SIGTERM, as a shell says it.
    return [each.kind === 'GONE' && !hasEnded ? { ...each, kind: 'END', text: '143 all' } : each];
  });
}
