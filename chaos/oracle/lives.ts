import type { Evidence, ProcessLife } from './evidence.js';
import type { Finding } from './verdict.js';

/** Longest life of a worker that finds no server: it says so and ends, and whoever runs it starts it again (docs/worker.md). */
const NO_SERVER_MS = 60_000;
/** Time until a server that was just started accepts calls. */
const SERVER_READY_MS = 15_000;

/** Finds processes of the stack that ended although chaos had not ended them. No fault, not even a full disk, may end one. */
export function endedByThemselves({ lives = [], deeds }: Evidence): readonly Finding[] {
  return lives.flatMap((life): readonly Finding[] => {
    const { process, startedAt, endedAt, how = 'unknown' } = life;
    if (endedAt === undefined || foundNoServer(life, lives)) return [];
    const isAskedFor = deeds.some(
      (deed) => deed.kind === 'ended-process' && deed.process === process && deed.at >= startedAt && deed.at <= endedAt,
    );
    if (isAskedFor) return [];
    const text = `the ${process} ended after ${((endedAt - startedAt) / 1000).toFixed(1)} s (${how}), and nobody had ended it`;
    return [{ count: 'processes that ended by themselves', subject: process, text }];
  });
}

function foundNoServer(
  { process, startedAt, endedAt = Infinity }: ProcessLife,
  lives: readonly ProcessLife[],
): boolean {
  if (!process.includes('worker') || endedAt - startedAt > NO_SERVER_MS) return false;
  return !lives.some(
    (server) =>
      server.process === 'server' &&
      server.startedAt <= startedAt - SERVER_READY_MS &&
      (server.endedAt ?? Infinity) >= startedAt + SERVER_READY_MS,
  );
}
