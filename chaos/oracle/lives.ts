import type { Evidence } from './evidence.js';
import type { Finding } from './verdict.js';

/** Each end of a process that nobody had asked for in that life of it: a full disk, or whatever else is wrong, must not end one. */
export function endedByThemselves({ lives = [], deeds }: Evidence): readonly Finding[] {
  return lives.flatMap(({ process, startedAt, endedAt, how = 'unknown' }): readonly Finding[] => {
    if (endedAt === undefined) return [];
    const isAskedFor = deeds.some(
      (deed) => deed.kind === 'ended-process' && deed.process === process && deed.at >= startedAt && deed.at <= endedAt,
    );
    if (isAskedFor) return [];
    const text = `the ${process} ended after ${((endedAt - startedAt) / 1000).toFixed(1)} s (${how}), and nobody had ended it`;
    return [{ count: 'processes that ended by themselves', subject: process, text }];
  });
}
