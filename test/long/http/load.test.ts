import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { jobFile } from '../../end-to-end/job-files.js';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { until } from '../../until.js';

const USERS = 50;
const SUBMITS = 500;
const FOLLOWERS = 500;
const user = (index: number): string => `user-${index % USERS}@example.org`;

/** Every user is a member of vision here. */
const QUOTA = `
[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 64
[project_membership]
vision = ["user-[0-9]+@example[.]org", "alice@example.org"]
[project_resources.vision]
v5litepod = 1.0
`;

/** What it took is stated; only what must hold is a condition. */
describe(`${SUBMITS} submits at once of ${USERS} users, beside ${FOLLOWERS} followed logs`, function () {
  this.timeout(600_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    const limits = { submitsPerMinute: 20, requestsPerMinute: 1_000, followedLogs: 20 };
    stack = await ServerStack.start({ quota: QUOTA, serverConfig: () => ({ limits }) });
  });
  after(() => stack?.stop());

  it('loses none, and every follower gets the whole log; who is over the limit is told, and nobody else notices', async () => {
    const tpu = { accelerator: 'v5litepod-1' };
    const lines = 'for i in $(seq 1 90); do echo "line $i of the log"; sleep 1; done';
    const alice = 'alice@example.org';
    const printing = await stack.call(alice, 'POST', '/v1/jobs', {
      job: jobFile(lines, { name: 'printing', project: 'vision', tpu }),
    });
    const id = String(printing.body['id'] ?? assert.fail(printing.text));
    await until(
      'it prints',
      async () => (await stack.call(alice, 'GET', `/v1/jobs/${id}/logs`)).text.includes('line 1 '),
      90_000,
    );
    await stack.call('olga@example.org', 'POST', '/v1/pools/default/admission', {
      admission: 'frozen',
      reason: 'a test',
    });
    const followed = Promise.all(Array.from({ length: FOLLOWERS }, (_, index) => follow(stack, user(index), id)));

    const times: number[] = [];
    const submit = async (index: number) => {
      const began = performance.now();
      const job = jobFile('true', { name: 'many', project: 'vision', tpu });
      const answer = await stack.call(
        user(index),
        'POST',
        '/v1/jobs',
        { job },
        { headers: { 'idempotency-key': `k-${index}` } },
      );
      times.push(performance.now() - began);
      return answer;
    };
    const greedy = async () =>
      Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          stack.call(alice, 'POST', '/v1/jobs', { job: {}, name: `x-${index}` }),
        ),
      );
    const [answers, over] = await Promise.all([
      Promise.all(Array.from({ length: SUBMITS }, (_, index) => submit(index))),
      greedy(),
    ]);
    assert.deepEqual(
      [...new Set(answers.map(({ status }) => status))],
      [201],
      answers.find(({ status }) => status !== 201)?.text,
    );
    assert.equal(new Set(answers.map(({ body }) => body['id'])).size, SUBMITS);
    assert.equal(over.filter(({ status }) => status === 429).length, 21, 'one of the 20 was the job that prints');
    await until(
      'all are listed',
      async () => Number((await stack.call(alice, 'GET', '/v1/jobs/count?name=many*')).body['total']) === SUBMITS,
      60_000,
    );

    const logs = await followed;
    const stored = (await stack.call(alice, 'GET', `/v1/jobs/${id}/logs?host=0`)).text;
    assert.equal(stored.split('\n').length, 91);
    assert.equal(logs.filter((log) => log === stored).length, FOLLOWERS);
    const sorted = times.toSorted((a, b) => a - b);
    const at = (share: number): string => `${Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0)} ms`;
    const memory = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${stack.pidOf()}/status`, 'utf8'))?.[1];
    console.log(
      `        submits: median ${at(0.5)}, p99 ${at(0.99)}, longest ${at(1)}; most memory of the server ${Math.round(Number(memory) / 1024)} MiB`,
    );
  });
});

/** The bytes of host 0, as events bring them. */
async function follow(stack: ServerStack, who: string, id: string): Promise<string> {
  const authorization = `Bearer ${await stack.issuer.token({ email: who })}`;
  const response = await fetch(`${stack.urls[0]}/v1/jobs/${id}/logs?follow=true`, { headers: { authorization } });
  assert.equal(response.status, 200);
  const events = await response.text();
  const bytes = events.split('\n\n').flatMap((event) => {
    const data = /^event: stretch\n.*\ndata: (.*)$/m.exec(event)?.[1];
    return data === undefined ? [] : [Buffer.from((JSON.parse(data) as { bytes: string }).bytes, 'base64')];
  });
  return Buffer.concat(bytes).toString();
}
