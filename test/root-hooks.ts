import assert from 'node:assert/strict';
import { readFileSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { relative } from 'node:path';
import fc from 'fast-check';
import Mocha, { type Context, type RootHookObject } from 'mocha';
import { slowness } from './until.js';

/**
 * Without a message Node 20 reads and parses the source around a failed `assert.ok`, at a column of what tsx made of it: it finds nothing
 * ("false == true"), and with some files never ends.
 */
const { ok } = assert;
Object.assign(assert, { ok: (value: unknown, message: string | Error = 'it is not so') => ok(value, message) });

/**
 * Mocha ends the processes of its pool by a message, and by SIGTERM one second later (workerpool, WorkerHandler.terminate). On a busy
 * machine the signal comes first: what was registered for `exit`, such as the end of a Temporal server, must be done then too.
 */
process.once('SIGTERM', () => process.exit(128 + constants.signals.SIGTERM));

/** Properties draw the same cases each time, so that nobody's change is refused for what chance drew (docs/adr/0185). */
fc.configureGlobal({ seed: Number(process.env['JOBCTL_PROPERTY_SEED'] ?? 1) });

/** A test has more time on a slow computer, as its waits have. */
const { prototype } = Mocha.Runnable as unknown as { prototype: { timeout(this: unknown, ms?: number): unknown } };
const { timeout } = prototype;
prototype.timeout = function (ms) {
  return ms === undefined ? Number(timeout.call(this)) * slowness() : timeout.call(this, ms);
};

/** What Linux counts in, in `/proc/PID/stat`. */
const TICKS_PER_S = 100;
/** Behind the name of the program, which may hold spaces: CPU time of this process and of the children that it waited for. */
const CPU_FIELDS = [11, 12, 13, 14];

function cpuTicks(): number {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? [];
  return CPU_FIELDS.reduce((sum, field) => sum + Number(fields[field]), 0);
}

let counted = 0;

/** Of each file, into the log of its process (test/reporter.cjs): a heading, and at its end how much CPU time it took, loading included. */
export const mochaHooks: RootHookObject =
  process.env['JOBCTL_TEST_LOGS'] === undefined
    ? {}
    : {
        beforeAll(this: Context) {
          writeSync(1, `\n=== ${fileOf(this)}\n`);
        },
        afterAll(this: Context) {
          const now = cpuTicks();
          writeSync(1, `\n=== CPU ${((now - counted) / TICKS_PER_S).toFixed(1)} s ${fileOf(this)}\n`);
          counted = now;
        },
      };

const fileOf = ({ test }: Context): string => relative(process.cwd(), test?.parent?.suites[0]?.file ?? '');
