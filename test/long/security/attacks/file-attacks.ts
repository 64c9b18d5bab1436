import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_TIMINGS } from '../../../../domain/timings.js';
import { plant } from '../../../end-to-end/planted.js';
import { RehearsalAdmin } from '../../../end-to-end/rehearsal-admin.js';
import type { TestStack } from '../../../end-to-end/test-stack.js';
import { until } from '../../../until.js';
import { type Attack } from './attack.js';
import { firstLine, jobFileOf, jobOf, loggedBy, newName, startDirectly, untilOver } from './steps.js';

const keyFiles: Attack = {
  finding: 'F2',
  title: "a job started directly asks for the worker's own SSH key by its path",
  mode: 'trusted',
  async run(attacked) {
    const more = { ssh: { identities: [{ private_key: attacked.stack.privateKeyFile }] } };
    const job = jobOf(attacked, 'cat ~/.ssh/id_ed25519', more);
    const id = await startDirectly(attacked, newName('f2'), job, attacked.people.mallory);
    const { text } = await untilOver(attacked, id, attacked.people.mallory);
    const { stdout } = await attacked.cli(attacked.people.mallory, 'logs', id);
    // Its own key, and not what else is in ~/.ssh of the host.
    const [, secret = 'no key'] = readFileSync(attacked.stack.privateKeyFile, 'utf8').split('\n');
    if (stdout.includes(secret)) return { hasSucceeded: true, seen: "the job's log shows the private key" };
    const [why = firstLine(text)] = /this worker reads no key files/.exec(text) ?? [];
    return { hasSucceeded: false, seen: `the job ended: ${why}` };
  },
};

const forgedContent: Attack = {
  finding: 'F3',
  title: "another archive under the hash of alice's folder in the bucket; she submits it again",
  mode: 'trusted',
  async run(attacked) {
    const { store } = attacked.stack;
    const folder = attacked.scratch();
    const say = (text: string): string => {
      writeFileSync(join(folder, 'say.sh'), `echo ${text}\n`);
      return folder;
    };
    const file = jobFileOf(attacked, jobOf(attacked, 'bash say.sh'));
    const before = new Set((await store.list('bundles/')).map(({ name }) => name));
    const submit = (name: string): Promise<string> =>
      loggedBy(attacked, attacked.people.alice, [
        file,
        '--name',
        name,
        '--user',
        attacked.people.alice,
        '--bundle',
        say('hers'),
      ]);
    const first = await submit(newName('f3'));
    if (!first.includes('hers')) throw new Error(`her own job: ${first}`);
    const [bundle] = (await store.list('bundles/')).filter(({ name }) => !before.has(name));
    if (bundle === undefined) throw new Error('no bundle was uploaded');
    say('EVIL-CODE-RUNS-AS-attacked.people.alice');
    const evil = execFileSync('tar', ['-cz', '-C', folder, 'say.sh']);
    await store.replace(bundle.name, evil, 'application/gzip');
    const seen = await submit(newName('f3'));
    if (seen.includes('EVIL-CODE')) return { hasSucceeded: true, seen: 'it ran as hers' };
    const [why = firstLine(seen)] = /is not what was submitted/.exec(seen) ?? [];
    return { hasSucceeded: false, seen: `the job ended before a command ran: the content ${why}` };
  },
};

const foreignSlices: Attack = {
  finding: 'F6',
  title: "a `slice` workflow started directly, with the labels of another installation's TPU",
  mode: 'trusted',
  async run(attacked) {
    const { stack, isOld, pool } = attacked;
    const theirs = await plant(stack as TestStack, newName('theirs'), 'otherteam0001');
    const owner = { owner: 'otherteam0001', job: 'stranger', run: 'nobody-knows' };
    const task = {
      kind: 'reclaim',
      ref: theirs.ref,
      ...(isOld ? { ownership: { ...owner, generation: 1, spec: 'x' } } : { owner }),
    };
    const lease = { pool, job: 'nobody', run: 'none', number: 1 };
    const handle = await stack.client.workflow.start('slice', {
      ...{ workflowId: `slice/${theirs.ref.name}`, taskQueue: stack.taskQueue },
      args: [{ v: 1, task, lease, timings: DEFAULT_TIMINGS }],
    });
    const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
    const isThere = async (): Promise<boolean> =>
      (await admin.status()).queuedResources.some(({ name }) => name.endsWith(`/${theirs.ref.name}`));
    const seen = await until(
      'it is deleted, or the workflow has ended',
      async () => {
        if (!(await isThere())) return 'deleted';
        const { status } = await handle.describe();
        return status.name === 'RUNNING' ? undefined : reasonOf(handle);
      },
      90_000,
    );
    const hasSucceeded = !(await isThere());
    if (hasSucceeded) await handle.terminate('attacked').catch(() => undefined);
    else await theirs.remove();
    return hasSucceeded
      ? { hasSucceeded, seen: "the other team's TPU was deleted" }
      : { hasSucceeded, seen: `nothing was deleted: ${firstLine(seen)}` };
  },
};

const reasonOf = (handle: { result(): Promise<unknown> }): Promise<string> =>
  handle.result().then(
    () => 'the workflow completed',
    (error: { cause?: { message?: string; cause?: Error } }) =>
      error.cause?.cause?.message ?? error.cause?.message ?? String(error),
  );

const takenId: Attack = {
  finding: 'F7',
  title: 'who may write the bucket of jobs takes an id for ever, and the owner of the installation',
  mode: 'verified',
  async run(attacked) {
    const { store, owner } = attacked.stack;
    const id = newName('f7');
    await store.replace(`jobs/${id}/run`, 'squatted');
    const file = jobFileOf(attacked, jobOf(attacked, 'echo ran'));
    const named = attacked.isOld ? ['--user', attacked.people.alice] : [];
    const logged = await loggedBy(attacked, attacked.people.alice, [file, '--name', id, ...named]);
    const before = await store.read('system/owner');
    await store.replace('system/owner', '000000000000');
    const who = attacked.isOld
      ? await attacked.cli(attacked.people.operator, 'audit', 'leaks', '-o', 'json')
      : undefined;
    if (before !== undefined) await store.replace('system/owner', before);
    const isBlind = who !== undefined && !who.stdout.includes(owner);
    if (!/\bran\n/.test(logged))
      return {
        hasSucceeded: true,
        seen: `the job could not be submitted (\`${/a job [\w-]+ has run before[^"\\]*/.exec(logged)?.[0] ?? firstLine(logged)}\`)${isBlind ? '; `audit leaks` judged by the forged owner' : ''}`,
      };
    return { hasSucceeded: false, seen: 'the job ran: what decides lies in a bucket that only workers write' };
  },
};

export const FILE_ATTACKS: readonly Attack[] = [keyFiles, forgedContent, foreignSlices, takenId];
