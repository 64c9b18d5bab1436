/**
 * The same claims of each module that any computer can show; docker, gcsfuse and conda, which want more, have files of their own.
 * Cut off is the connection, and with it the session on the host, as a worker's death does it.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modulePlans } from '../../activities/module-plans.js';
import type { ModulePlan } from '../../domain/modules/module.js';
import type { ModuleOutcome } from '../../cloud/hosts/port.js';
import { judgeSetUpFailure } from '../../domain/set-up-record.js';
import { applyModule } from '../hosts/apply-modules.js';
import { countingCalls } from '../hosts/round-trips.js';
import type { HostSession } from '../hosts/session.js';
import { never, withHost } from '../hosts/session.js';
import { makeKeyPair } from '../hosts/ssh-host.js';

interface Row {
  plan(content: string): ModulePlan;
  /** On the host, once it is ready: under the home folder, a word of `content` in it. */
  readonly made: string;
  readonly failing: ModulePlan;
  /** A folder in the way of a file of its, where the plan itself is right. */
  readonly spoil?: string;
  readonly failure: 'permanent' | 'unknown';
}

const pair = makeKeyPair();
const keys = [{ privateKey: pair.private, publicKey: pair.public }];
const first = (spec: Parameters<typeof modulePlans>[0], files: Record<string, string> = {}): ModulePlan => {
  const contents = new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]));
  return modulePlans(spec, { files: contents, keys })[0] ?? assert.fail('no plan');
};
const ssh = (user: string): ModulePlan => {
  const configEntry = `Host github.com\n  User ${user}\n`;
  return first({ modules: ['ssh'], identities: [{ privateKey: '~/.ssh/k', configEntry, isBetweenHosts: true }] });
};
const venv = (requirements: string): ModulePlan => {
  const spec = { path: '~/env', python: 'python3', requirementsFile: 'r.txt' };
  return first({ modules: ['venv'], venv: spec }, { 'r.txt': requirements });
};
const files = (content: string, to: string): ModulePlan =>
  first({ modules: ['files'], files: [{ from: 'a', to }] }, { a: content });
const bundle = (content: string, install?: string): ModulePlan => {
  const folder = mkdtempSync(join(tmpdir(), 'each-bundle-'));
  writeFileSync(join(folder, 'a.py'), content);
  const archive = execFileSync('tar', ['-C', folder, '--mtime=@0', '-czf', '-', '.']);
  rmSync(folder, { recursive: true });
  const spec = { dir: '.', ...(install === undefined ? {} : { install }) };
  const [plan] = modulePlans({ modules: ['bundle'], bundle: spec }, { files: new Map([['bundle:.', archive]]), keys });
  return plan ?? assert.fail('no plan');
};
const own = (setup: { name: string; run: string }[]): ModulePlan =>
  first({ modules: ['mine'], ownModules: { mine: { check: '[ -f ~/made ]', setup, files: [] } } });
const script = (run: string): ModulePlan => first({ modules: ['script'], script: { run, check: '[ -f ~/made ]' } });

const ROWS: Readonly<Record<string, Row>> = {
  ssh: { plan: ssh, made: '.ssh/config', failing: ssh('x'), spoil: '.ssh/config', failure: 'unknown' },
  files: {
    plan: (content) => files(content, '~/made'),
    made: 'made',
    failing: files('x', '/proc/none'),
    failure: 'unknown',
  },
  bundle: {
    plan: (content) => bundle(content, `cp a.py ~/installed`),
    made: 'bundle/a.py',
    failing: bundle('x', 'echo "ERROR: No matching distribution found for x"; exit 1'),
    failure: 'permanent',
  },
  script: {
    plan: (content) => script(`echo ${content} > ~/made`),
    made: 'made',
    failing: script('echo no; exit 3'),
    failure: 'unknown',
  },
  venv: {
    plan: (content) => venv(`# ${content}\n`),
    made: 'r.txt',
    failing: venv('--no-index\nno-such-package-of-ours==1.0\n'),
    failure: 'permanent',
  },
  "a job file's own": {
    plan: (content) =>
      own([
        { name: 'one', run: `echo ${content} > ~/half` },
        { name: 'two', run: 'mv ~/half ~/made' },
      ]),
    made: 'made',
    failing: own([{ name: 'one', run: 'echo "E: Unable to locate package gcsfusee"; exit 100' }]),
    failure: 'permanent',
  },
};

describe('each module', function () {
  this.timeout(120_000);

  for (const [name, row] of Object.entries(ROWS)) {
    it(`${name}: fresh it is made, unchanged it is one call without a step, changed it is made anew`, () =>
      withHost(async (session) => {
        await session.connection.runStatus('warm-a1');
        assert.deepEqual(await made(session, row.plan('first')), { kind: 'done', calls: 1, hasSteps: true });
        assert.match(session.read(row.made), /first/);
        assert.deepEqual(await made(session, row.plan('first')), { kind: 'unchanged', calls: 1, hasSteps: false });
        assert.deepEqual(await made(session, row.plan('second')), { kind: 'done', calls: 1, hasSteps: true });
        assert.match(session.read(row.made), /second/);
        assert.deepEqual(await made(session, row.plan('second')), { kind: 'unchanged', calls: 1, hasSteps: false });
      }));

    it(`${name}: cut off in any of its steps it is whole after the next set-up, and what it made before is not taken for it`, async () => {
      const steps = row.plan('x').steps.map((step) => step.name);
      let redone = 0;
      for (const step of steps) {
        await withHost(async (session) => {
          await made(session, row.plan('before'));
          await cutOff(session, row.plan('after'), step);
          const { kind } = await made(session, row.plan('after'));
          if (kind === 'done') redone += 1;
          assert.match(session.read(row.made), /after/, step);
          assert.equal((await made(session, row.plan('after'))).kind, 'unchanged', step);
        });
      }
      assert.ok(redone > 0, `none of ${String(steps)} was cut off in the middle: the test shows nothing`);
    });

    it(`${name}: a failure names its step and says in words what it is, and leaves nothing that passes for ready`, () =>
      withHost(async (session) => {
        if (row.spoil !== undefined) mkdirSync(join(session.host.home, row.spoil), { recursive: true });
        const failed = await applyModule(session.connection, row.failing);
        assert.ok(failed.kind === 'failed', failed.output);
        assert.ok(row.failing.steps.some((step) => step.name === failed.step));
        assert.notEqual(failed.tail, '');
        assert.equal(judgeSetUpFailure(failed.code, failed.tail).kind, row.failure, failed.tail);
        assert.equal((await applyModule(session.connection, row.failing)).kind, 'failed');
        assert.ok(!existsSync(join(session.host.home, `.jobctl/modules/${row.failing.name}.json`)));
      }));
  }
});

interface Made {
  readonly kind: string;
  readonly calls: number;
  readonly hasSteps: boolean;
}

async function made(session: HostSession, plan: ModulePlan): Promise<Made> {
  const steps: string[] = [];
  let output = '';
  const listener = {
    onOutput: (_module: string, chunk: Buffer) => void (output += chunk.toString()),
    onStep: ({ step }: { readonly step: string }) => void steps.push(step),
  };
  const { result, calls } = await countingCalls(() => session.connection.applyModules([plan], listener, never));
  const [outcome] = result as readonly [ModuleOutcome];
  assert.notEqual(outcome.kind, 'failed', output);
  return { kind: outcome.kind, calls, hasSteps: steps.length > 0 };
}

async function cutOff(session: HostSession, plan: ModulePlan, step: string): Promise<void> {
  const listener = {
    onOutput: () => undefined,
    onStep: (event: { readonly step: string }) => void (event.step === step && session.host.cut()),
  };
  // It may have come to its end before the cut.
  await session.connection.applyModules([plan], listener, never).catch(() => undefined);
}
