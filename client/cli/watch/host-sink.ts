import { HostLines } from './host-lines.js';
import type { LogSink } from './log-follower.js';
import type { Screen } from './screen.js';

/** Whole lines, each under its host's number. */
export function prefixedSink(screen: Screen): LogSink {
  const lines = new HostLines(screen.look.symbols.bar);
  return {
    stretch: (host, bytes) => screen.output(lines.add(host, bytes)),
    attemptEnd: () => screen.output(lines.end()),
  };
}

/** One host's bytes as they are. */
export function rawSink(screen: Screen): LogSink {
  return { stretch: (_host, bytes) => screen.output([bytes]), attemptEnd: async () => undefined };
}
