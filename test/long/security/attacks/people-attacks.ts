import { until } from '../../../until.js';
import { type Attack, type Attacked } from './attack.js';
import { endJob, firstLine, withoutAsking, jobFileOf, jobOf, newName, statusOf, untilIn, untilOver } from './steps.js';

/** A job of alice, running. */
async function victimOf(attacked: Attacked, finding: string): Promise<string> {
  const id = newName(finding);
  const file = jobFileOf(attacked, jobOf(attacked, 'sleep 600'));
  const named = attacked.isOld ? ['--user', attacked.people.alice] : [];
  const { exitCode, stderr } = await attacked.cli(attacked.people.alice, 'submit', file, '--name', id, ...named);
  if (exitCode !== 0) throw new Error(stderr);
  await untilIn(attacked, id, attacked.people.alice, 'running');
  return id;
}

const names: Attack = {
  finding: 'F5',
  title: "mallory submits as alice, freezes the pool as its operator, and cancels alice's job",
  mode: 'verified',
  async run(attacked) {
    const victim = await victimOf(attacked, 'f5');
    const id = newName('f5');
    const file = jobFileOf(attacked, jobOf(attacked, 'true', { user: attacked.people.alice }));
    const submitted = await attacked.cli(attacked.people.mallory, 'submit', file, '--name', id);
    const owner = submitted.exitCode === 0 ? (await statusOf(attacked, id, attacked.people.alice)).text : '';
    const by = attacked.isOld
      ? ['--pool', attacked.pool, '--user', attacked.people.operator]
      : ['--by', attacked.people.operator];
    const frozen = await attacked.cli(attacked.people.mallory, 'quota', 'freeze', ...by);
    const bare = attacked.isOld ? frozen : await attacked.cli(attacked.people.mallory, 'quota', 'freeze');
    if (bare.exitCode === 0) await attacked.cli(attacked.people.operator, 'quota', 'thaw', ...by);
    const cancelled = await attacked.cli(attacked.people.mallory, 'cancel', victim, ...withoutAsking(attacked));
    const isHers = submitted.exitCode === 0 && owner.includes(`"user": "${attacked.people.alice}"`);
    if (isHers) await untilOver(attacked, id, attacked.people.alice);
    if (cancelled.exitCode !== 0) await endJob(attacked, victim, attacked.people.alice);
    else await untilOver(attacked, victim, attacked.people.alice);
    const ends = [submitted, bare, cancelled].map(({ exitCode }) => exitCode);
    if (isHers && ends.every((code) => code === 0))
      return { hasSucceeded: true, seen: `all three were done (exit codes 0); the job is ${attacked.people.alice}'s` };
    if (isHers || ends.includes(0))
      return { hasSucceeded: true, seen: `a part was done: exit codes ${ends.join(', ')}` };
    const said = [submitted, bare, cancelled].map(({ stderr }) => `\`${refusalIn(stderr)}\``).join('; ');
    return { hasSucceeded: false, seen: `refused (exit codes ${ends.join(', ')}): ${said}` };
  },
};

const trail: Attack = {
  finding: 'F11',
  title:
    "mallory cancels alice's job; who it was is looked for in the job's history, the bucket and `jobctl audit log`",
  mode: 'verified',
  async run(attacked) {
    const victim = await victimOf(attacked, 'f11');
    const cancel = await attacked.cli(attacked.people.mallory, 'cancel', victim, ...withoutAsking(attacked));
    const audit = (): ReturnType<Attacked['cli']> =>
      attacked.cli(attacked.people.operator, 'audit', 'log', '--job', victim, '-o', 'json');
    const find = async (): Promise<string | undefined> =>
      (await audit()).stdout.split('\n').find((line) => line.includes(attacked.people.mallory));
    const line = attacked.isOld ? await find() : await until('the line is there', find, 60_000);
    const history = await attacked.stack.client.workflow.getHandle(victim).fetchHistory();
    const traces = [JSON.stringify(history, decoded), ...(await objectsOf(attacked, victim))];
    const isTraced = traces.some((text) => text.includes(attacked.people.mallory));
    if (cancel.exitCode === 0) await untilOver(attacked, victim, attacked.people.alice);
    else await endJob(attacked, victim, attacked.people.alice);
    if (line !== undefined) return { hasSucceeded: false, seen: `one line: \`${shortened(line)}\`` };
    if (isTraced) return { hasSucceeded: false, seen: 'the name is in the history or the bucket' };
    const { exitCode, stderr } = await audit();
    const where = `none of ${traces.length} texts has the name`;
    return {
      hasSucceeded: true,
      seen: `cancelled (exit code ${cancel.exitCode}), and ${where}; \`audit log\`: exit code ${exitCode}, \`${firstLine(stderr)}\``,
    };
  },
};

/** Payloads as text: a name in one of them would be a trace too. */
const decoded = (_: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : value;

/** What is stored of the job, and what else names it. */
async function objectsOf({ stack: { store } }: Attacked, job: string): Promise<readonly string[]> {
  const own = await store.list(`jobs/${job}/`);
  const others = [...(await store.list('quota/')), ...(await store.list('audit/'))];
  const read = async (name: string): Promise<string> => (await store.read(name))?.toString() ?? '';
  const lines = (await Promise.all(others.map(({ name }) => read(name)))).flatMap((text) => text.split('\n'));
  return [...(await Promise.all(own.map(({ name }) => read(name)))), ...lines.filter((line) => line.includes(job))];
}

const refusalIn = (stderr: string): string =>
  firstLine(stderr.split('\n').find((line) => /may not/.test(line)) ?? stderr);

const shortened = (line: string): string => line.trim().replaceAll('|', '/').slice(0, 300);

export const PEOPLE_ATTACKS: readonly Attack[] = [names, trail];
