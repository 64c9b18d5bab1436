/**
 * `npm run bench:warm [-- --members 20] [-- --lanes 4] [-- --set-up 10] [-- --run 5]`: runs a sweep on slices of its own and on warm
 * slices (docs/adr/0163), one after the other on a private local stack with real processes and SSH. Set-up and command take so many
 * seconds. It counts requests in the cloud's journal, and set-up time in the members' records.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { setUpsOf } from '../cli/commands/verbs/status-timeline.js';
import { jobFile } from '../test/end-to-end/job-files.js';
import { RehearsalAdmin } from '../test/end-to-end/rehearsal-admin.js';
import { TestStack } from '../test/end-to-end/test-stack.js';
import { until } from '../test/until.js';

const { values } = parseArgs({
  options: {
    members: { type: 'string', default: '20' },
    lanes: { type: 'string', default: '4' },
    'set-up': { type: 'string', default: '10' },
    run: { type: 'string', default: '5' },
  },
});
const [members, lanes] = [Number(values.members), Number(values.lanes)];
const load = (): string => loadavg()[0]?.toFixed(1) ?? '?';
const ONE_HOUR_MS = 3_600_000;

const stack = await TestStack.start();
const admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
console.log(`node ${process.version}, ${cpus().length} cores, ${members} members, ${lanes} at a time\n`);
for (const warm of [false, true]) console.log(await measured(warm));
await stack.stop();
process.exit(0);

async function measured(warm: boolean): Promise<string> {
  const tools = { check: 'test -e ~/made', setup: [{ name: 'make', run: `sleep ${values['set-up']}; touch ~/made` }] };
  const job = jobFile(`sleep ${values.run}`, {
    tpu: { accelerator: 'v5litepod-1' },
    ...{ setup: { modules: ['tools', 'command'] }, modules: { tools } },
    array: { matrix: { i: `1..${members}` }, max_parallel: lanes, warm },
  });
  const [began, before] = [Date.now(), load()];
  const { id } = await stack.jobs.submit({ job });
  await until('all have ended', async () => (await stack.jobs.group(id)).endedAt !== undefined, ONE_HOUR_MS);
  const seconds = (Date.now() - began) / 1_000;
  await until('the cloud is empty', async () => (await admin.status()).queuedResources.length === 0, ONE_HOUR_MS);
  const rows = await stack.jobs.find({ group: id });
  const setUps = (await Promise.all(rows.map((row) => setUpsOf(stack.store, row)))).flat();
  const setUp = setUps.reduce((sum, { record: { startedAt, endedAt = startedAt } }) => sum + endedAt - startedAt, 0);
  const { requests, sliceMs } = await requestsOf(id);
  return [
    warm ? 'warm' : 'cold',
    `${rows.filter(({ outcome }) => outcome?.result === 'succeeded').length} succeeded in ${seconds.toFixed(0)} s`,
    `${requests} slices for ${(sliceMs / 1_000).toFixed(0)} slice seconds`,
    `${(setUp / 1_000).toFixed(0)} s of set-up`,
    `load ${before} before, ${load()} after`,
  ].join('   ');
}

/** From the first word of each request to the last, by the cloud's journal. */
async function requestsOf(id: string): Promise<{ readonly requests: number; readonly sliceMs: number }> {
  const lives = new Map<string, { readonly from: number; readonly to: number }>();
  for (const { at, kind, subject } of await admin.journal()) {
    if (kind !== 'queued-resource-state' || !subject.includes(`${id}-`)) continue;
    lives.set(subject, { from: lives.get(subject)?.from ?? at, to: at });
  }
  const sliceMs = [...lives.values()].reduce((sum, { from, to }) => sum + to - from, 0);
  return { requests: lives.size, sliceMs };
}
