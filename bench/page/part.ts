/**
 * The process of one part of `npm run bench`: measures what its argument names, and sends the rows to its parent. It ends when
 * its parent does.
 */
import { messageOf } from '../../domain/errors.js';
import { leaveKubernetes } from './kubernetes-node.js';
import type { PartAnswer } from './own-processes.js';
import type { PartName } from './parts.js';
import type { Measured } from './table.js';

/** Each loads only its own code. */
const MEASURES: Readonly<Record<PartName, (tell: (step: string) => void) => Promise<readonly Measured[]>>> = {
  fanout: async (tell) => (await import('./fan-out.js')).fanOut(tell),
  decisions: async (tell) => (await import('./decisions.js')).decisions(tell),
  grants: async (tell) => (await import('./grants.js')).grants(tell),
  cli: async (tell) => (await import('./command-line.js')).commandLine(tell),
  submit: async (tell) => (await import('./first-lines.js')).firstLines(tell),
  logs: async (tell) => (await import('./followed-logs.js')).followedLogs(tell),
};

const part = process.argv[2] as PartName;
process.once('disconnect', () => process.exit(1));
process.once('SIGTERM', () => {
  leaveKubernetes();
  process.exit(143);
});
const answer = await MEASURES[part]((step) => console.error(`${part}: ${step}`)).then(
  (rows): PartAnswer => ({ rows }),
  (error: unknown): PartAnswer => {
    console.error(error);
    return { error: messageOf(error) };
  },
);
process.send?.(answer, () => process.exit('rows' in answer ? 0 : 1));
