import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { ModuleOutcome } from '../../cloud/hosts/port.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { startNamespace } from './namespace.js';
import type { HostSession } from './session.js';
import { never, withHost } from './session.js';

const plan = (name: string, bytes: number): ModulePlan => ({
  name,
  fingerprint: 'one',
  check: 'true',
  steps: [
    { name: 'first', script: 'true' },
    { name: 'copy', script: 'true', files: [{ path: `${name}/file`, content: Buffer.alloc(bytes, 'x'), mode: 0o600 }] },
  ],
});

async function apply({ connection }: HostSession, ...plans: readonly ModulePlan[]): Promise<readonly ModuleOutcome[]> {
  return connection.applyModules(plans, { onOutput: () => undefined }, never);
}

const kinds = (outcomes: readonly ModuleOutcome[]): string[] => outcomes.map(({ module, kind }) => `${module} ${kind}`);

describe('a file of a module that the host does not take', () => {
  for (const [size, bytes] of Object.entries({ small: 10, large: 300_000 }))
    it(`(a ${size} one) fails its step in the host's words; what came before is ready, and with its way free it is done`, () =>
      withHost(async (session) => {
        const inTheWay = join(session.host.home, 'b');
        writeFileSync(inTheWay, '');
        const plans = [plan('a', 10), plan('b', bytes), plan('c', 10)];
        const outcomes = await apply(session, ...plans);
        assert.deepEqual(kinds(outcomes), ['a done', 'b failed']);
        const failed = outcomes[1] as Extract<ModuleOutcome, { kind: 'failed' }>;
        assert.equal(failed.step, 'copy');
        assert.match(failed.tail, /\/b.*(File exists|Not a directory)/);
        rmSync(inTheWay);
        mkdirSync(inTheWay);
        assert.deepEqual(kinds(await apply(session, ...plans)), ['a unchanged', 'b done', 'c done']);
      }));

  it('for want of room is waited for', async () => {
    const home = await mkdtemp(join(tmpdir(), 'hosts-test-'));
    const small = await startNamespace(`mount -t tmpfs -o size=1m tmpfs ${home}`);
    try {
      await withHost(
        async (session) => {
          await session.connection.runStatus('warm-a1');
          const nothing = (): void => undefined;
          const options = { onStdout: nothing, onStderr: nothing, signal: never };
          await session.connection.exec('head -c 800K /dev/zero > ~/filler', options);
          const [failed] = await apply(session, plan('a', 200_000));
          assert.ok(failed?.kind === 'failed', failed?.kind);
          assert.equal(judgeSetUpFailure(failed.code, failed.tail).kind, 'transient', failed.tail);
          await session.connection.exec('rm ~/filler', options);
          assert.deepEqual(kinds(await apply(session, plan('a', 200_000))), ['a done']);
        },
        { home, enter: small.enter },
      );
    } finally {
      small.kill();
      await rm(home, { recursive: true });
    }
  });
});
