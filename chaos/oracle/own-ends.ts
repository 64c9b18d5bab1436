import type { Evidence, Told } from './evidence.js';

/** Tolerance for one clock that two processes read. */
const SLACK_MS = 200;

/**
 * A SIGTERM that chaos sent to a command alone comes neither from jobctl nor from a host that shuts down. The end that follows is
 * the command's own, even with code 0. Returns the evidence as if the command had ended without a signal.
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
  // jobctl, or the host's shutdown, signalled first.
  if (term === undefined || term.at < at - SLACK_MS || term.text !== '') return told;
  const hasEnded = own.some(({ kind }) => kind === 'END');
  return told.flatMap((each): readonly Told[] => {
    if (each.process !== process) return [each];
    if (each.kind === 'TERM') return each.number === term.number ? [] : [each];
    if (each.kind === 'END') return [{ ...each, text: each.text.replace(/early$/u, 'all') }];
    // 128 plus the number of SIGTERM, as a shell reports it.
    return [each.kind === 'GONE' && !hasEnded ? { ...each, kind: 'END', text: '143 all' } : each];
  });
}
