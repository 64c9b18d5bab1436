import { until } from '../../../until.js';
import { type Attack, type Attacked } from './attack.js';
import {
  endJob,
  firstLine,
  withoutAsking,
  jobFileOf,
  jobOf,
  newName,
  startDirectly,
  statusOf,
  untilIn,
  untilOver,
} from './steps.js';

const WITHIN_MS = 120_000;

/** How often the pool's workflow has failed in a row; 0 while it works. */
async function failuresOfPool({ stack, pool }: Attacked): Promise<number> {
  const { raw } = await stack.client.workflow.getHandle(`quota/${pool}`).describe();
  return (raw.pendingWorkflowTask?.attempt ?? 1) - 1;
}

const notify: Attack = {
  finding: 'F1',
  title: 'a job that is refused signals the pool, whose workflow fails from then on',
  mode: 'trusted',
  async run(attacked) {
    // A pool is there with the first job of all.
    const first = await startDirectly(attacked, newName('f1'), jobOf(attacked, 'true'), attacked.people.alice);
    await untilIn(attacked, first, attacked.people.alice, 'succeeded');
    const workflow = { id: `quota/${attacked.pool}`, signal: 'leaseMessages' };
    const evil = { ...jobOf(attacked, 'true'), notify: { to: { workflow } }, nonsense: 1 };
    await untilOver(
      attacked,
      await startDirectly(attacked, newName('f1'), evil, attacked.people.mallory),
      attacked.people.mallory,
    );
    const next = await startDirectly(attacked, newName('f1'), jobOf(attacked, 'true'), attacked.people.alice);
    const failures = await until(
      'the pool fails, or grants',
      async () => {
        const count = await failuresOfPool(attacked);
        if (count > 0) return count;
        return (await statusOf(attacked, next, attacked.people.alice)).phase === 'succeeded' ? -1 : undefined;
      },
      WITHIN_MS,
    );
    const { phase } = await statusOf(attacked, next, attacked.people.alice);
    // A new run of the pool, for the attacks that come next.
    if (failures > 0) await attacked.stack.client.workflow.getHandle(workflow.id).terminate('attacked');
    await attacked.cli(attacked.people.alice, 'cancel', next, ...withoutAsking(attacked));
    return failures > 0
      ? {
          hasSucceeded: true,
          seen: `the pool's workflow task failed again and again; the next job of alice: \`${phase}\``,
        }
      : { hasSucceeded: false, seen: `the pool worked on; the next job of alice: \`${phase}\`` };
  },
};

const choices: Attack = {
  finding: 'F9',
  title: 'a job chooses a service account that the pool file does not name',
  mode: 'trusted',
  async run(attacked) {
    const account = 'owner-sa@other.iam.gserviceaccount.com';
    const tpu = { accelerator: 'v5litepod-1', zone: 'us-central1-a', service_account: account };
    const id = await startDirectly(
      attacked,
      newName('f9'),
      jobOf(attacked, 'sleep 600', { tpu }),
      attacked.people.mallory,
    );
    const seen = await until(
      'it runs, or is refused',
      async () => {
        const status = await statusOf(attacked, id, attacked.people.mallory);
        return status.phase === 'running' || status.isOver ? status : undefined;
      },
      WITHIN_MS,
    );
    if (seen.isOver) {
      const [why = firstLine(seen.text)] = /[^"]*is not allowed in pool[^"\\]*/.exec(seen.text) ?? [];
      return { hasSucceeded: false, seen: why };
    }
    const dump = await (await fetch(`${attacked.stack.rehearsal.endpoints.admin}/admin/dump`)).text();
    await endJob(attacked, id, attacked.people.mallory);
    return { hasSucceeded: dump.includes(account), seen: `it ran, on a machine with ${account}` };
  },
};

const revoked: Attack = {
  finding: 'F10',
  title: 'a forged `revoked` of epoch 999999999999999',
  mode: 'trusted',
  async run(attacked) {
    const victim = await startDirectly(attacked, newName('f10'), jobOf(attacked, 'sleep 600'), attacked.people.alice);
    await untilIn(attacked, victim, attacked.people.alice, 'running');
    const handle = attacked.stack.client.workflow.getHandle(victim);
    const { runId: run } = await handle.describe();
    const forged = { run, number: 1, epoch: 999_999_999_999_999, reason: 'forged', cause: 'quota' };
    await handle.signal('revoked', forged);
    // The pool has room and works: another job comes and goes meanwhile.
    const other = await startDirectly(attacked, newName('f10'), jobOf(attacked, 'true'), attacked.people.mallory);
    await untilIn(attacked, other, attacked.people.mallory, 'succeeded');
    const { phase } = await statusOf(attacked, victim, attacked.people.alice);
    await endJob(attacked, victim, attacked.people.alice);
    return phase === 'running'
      ? { hasSucceeded: false, seen: 'the job ran on' }
      : {
          hasSucceeded: true,
          seen: `the command was ended; the job was still \`${phase}\` when another one had come and gone`,
        };
  },
};

const places: Attack = {
  finding: 'F12',
  title: 'one user starts six jobs that run for ten minutes',
  mode: 'trusted',
  async run(attacked) {
    const user = `flood-${newName('f12')}`;
    const ids = Array.from({ length: 6 }, () => newName('f12'));
    for (const id of ids) await startDirectly(attacked, id, jobOf(attacked, 'sleep 600'), user);
    const [taken, refused]: [string[], string[]] = [[], []];
    for (const id of ids) {
      const { isOver, text } = await until(
        `${id} runs, or is refused`,
        async () => {
          const status = await statusOf(attacked, id, user);
          return status.phase === 'running' || status.isOver ? status : undefined;
        },
        WITHIN_MS,
      );
      if (!isOver) taken.push(id);
      else refused.push(/has 2 open jobs/.test(text) ? id : text);
    }
    for (const id of taken) await endJob(attacked, id, user);
    if (refused.some((text) => !ids.includes(text)))
      throw new Error(`refused for another reason: ${refused.join('\n')}`);
    return { hasSucceeded: taken.length === 6, seen: `${taken.length} were taken and ran, ${refused.length} refused` };
  },
};

const escapes: Attack = {
  finding: 'F13',
  title: 'the name of a user that writes the clipboard of who runs `jobctl list`',
  mode: 'trusted',
  async run(attacked) {
    const user = 'a\u001b]52;c;cm0gLXJm\u0007b';
    const id = newName('f13');
    const { client } = attacked.stack;
    const searchAttributes = { JobUser: [user] };
    await client.workflow.start('job', {
      ...{ workflowId: id, taskQueue: 'nobody-polls-this', searchAttributes },
      args: [{ v: 1, user, job: jobOf(attacked, 'true') }],
    });
    const listed = await until('it is listed', async () => {
      const { stdout } = await attacked.cli(attacked.people.alice, 'list', '--all', '--user', user);
      const other = stdout.includes(id) ? stdout : (await attacked.cli(attacked.people.alice, 'list')).stdout;
      return other.includes(id) ? other : undefined;
    });
    await client.workflow.getHandle(id).terminate('attacked');
    return listed.includes('\u001b]52;')
      ? { hasSucceeded: true, seen: 'the escape stood in the output as it was' }
      : { hasSucceeded: false, seen: 'it was printed as `\\u001b`' };
  },
};

const secretsInTheClear: Attack = {
  finding: 'F17',
  title: 'a token in `env` of a job file',
  mode: 'trusted',
  async run(attacked) {
    const file = jobFileOf(attacked, { ...jobOf(attacked, 'true'), env: { HF_TOKEN: 'hf_PLAINTEXTSECRET123' } });
    const { stdout, stderr } = await attacked.cli(attacked.people.alice, 'validate', file);
    const [warning] = /^.*looks like .*$/m.exec(`${stdout}\n${stderr}`) ?? [];
    return {
      hasSucceeded: warning === undefined,
      seen: warning?.replace(file, 'job.yaml').split(',')[0] ?? '`jobctl validate` said nothing of it',
    };
  },
};

const nesting: Attack = {
  finding: 'F18',
  title: 'YAML that is nested 20,000 levels deep',
  mode: 'trusted',
  async run(attacked) {
    const file = jobFileOf(attacked, {});
    (await import('node:fs')).writeFileSync(file, `env: {X: ${'['.repeat(20_000)}${']'.repeat(20_000)}}\n`);
    const { stdout, stderr } = await attacked.cli(attacked.people.alice, 'validate', file);
    const said = firstLine(`${stderr}${stdout}`).replace(file, 'job.yaml');
    return { hasSucceeded: /call stack/i.test(said), seen: `\`${said}\`` };
  },
};

export const POOL_ATTACKS: readonly Attack[] = [notify, choices, revoked, places, escapes, secretsInTheClear, nesting];
