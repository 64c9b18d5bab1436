import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { SubmissionSigner } from '../../../server/services.js';
import { WorkflowType } from '../../../contract/workflow-ids.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { until } from '../../until.js';
import type { Answer, CallOptions, ServerStack } from '../../server/server-stack.js';

const ALICE = 'alice@example.org';
const job = (command = 'echo hello', more: object = {}) =>
  jobFile(command, { project: 'vision', tpu: { accelerator: 'v5litepod-1' }, ...more });

/** Nobody is at a limit but in the test of limits. */
export const NO_LIMITS = { limits: { submitsPerMinute: 100_000, requestsPerMinute: 100_000 } };

/** Jobs through one or two replicas, on one address or each on its own. What it leaves behind: replica 1 has other limits. */
export function submissionSuite(stackOf: () => ServerStack): void {
  const submit = (body: object, options: CallOptions = {}): Promise<Answer> =>
    stackOf().call(ALICE, 'POST', '/v1/jobs', body, options);
  const ended = (id: string): Promise<Record<string, unknown>> =>
    until(
      `${id} has ended`,
      async () => {
        const { body } = await stackOf().call(ALICE, 'GET', `/v1/jobs/${id}/wait?timeoutMs=20000`);
        return body['isOver'] === true ? (body['outcome'] as Record<string, unknown>) : undefined;
      },
      90_000,
    );
  const named = async (name: string): Promise<readonly { readonly id: string }[]> =>
    (await stackOf().call(ALICE, 'GET', `/v1/jobs?name=${name}*`)).body['rows'] as { id: string }[];

  it('runs as the user of the token, verified, in the project that they are a member of', async () => {
    const submitted = await submit({ job: job() });
    assert.equal(submitted.status, 201, submitted.text);
    const id = String(submitted.body['id']);
    assert.equal((await ended(id))['result'], 'succeeded');
    const { body } = await stackOf().call(ALICE, 'GET', `/v1/jobs/${id}`);
    assert.equal(body['user'], ALICE);
    assert.equal(body['isVerified'], true);
    assert.equal(body['project'], 'vision');
    assert.equal((await stackOf().call(ALICE, 'GET', `/v1/jobs/${id}/logs?host=0`)).text, 'hello\n');
  });

  it('with files: brought by content, refused where one is missing or is another', async () => {
    const { createHash } = await import('node:crypto');
    const content = 'from a file\n';
    const sha256 = createHash('sha256').update(content).digest('hex');
    const body = { job: job('cat ~/f.txt', { files: { local: 'f.txt' } }), files: { 'f.txt': sha256 } };
    const put = async (bytes: string): Promise<number> => {
      const url = `${stackOf().url}/v1/uploads/content?path=f.txt&sha256=${sha256}`;
      const authorization = `Bearer ${await stackOf().issuer.token({ email: ALICE })}`;
      const headers = { authorization, 'content-type': 'application/octet-stream' };
      return (await fetch(url, { method: 'PUT', headers, body: bytes })).status;
    };
    assert.equal(await put('another text'), 422);
    const plan = { files: [{ path: 'f.txt', sha256, size: content.length }] };
    const stateOf = async (): Promise<unknown> =>
      ((await stackOf().call(ALICE, 'POST', '/v1/uploads', plan)).body['files'] as { state: string }[])[0]?.state;
    assert.equal(await stateOf(), 'wanted');
    const early = await submit({ ...body, job: job() });
    assert.match(String(early.body['detail']), /the content of 'f\.txt' \(sha256 [0-9a-f]{64}\) is not there/);
    assert.equal(await put(content), 204);
    assert.equal(await stateOf(), 'exists');
  });

  it('by a key is one job, whoever repeats the call where; with another body it is refused', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { job: job('sleep 1', { name: 'idem' }) };
    const answers = await Promise.all([0, 1, 0, 1, 0, 1].map((replica) => submit(body, { headers, replica })));
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [200, 200, 200, 200, 200, 201],
    );
    assert.equal(new Set(answers.map((answer) => answer.body['id'])).size, 1);
    const other = await submit({ job: job('sleep 2', { name: 'idem' }) }, { headers });
    assert.equal(other.body['code'], 'name-taken', other.text);
    // A key is its caller's own.
    const vera = await stackOf().call('vera@example.org', 'POST', '/v1/jobs', body, { headers });
    assert.equal(vera.status, 201, vera.text);
    await until('both are listed', async () => (await named('idem')).length === 2, 20_000);
  });

  it("of a name that is another user's is refused, also with the same content", async () => {
    const body = { job: job('true', { name: 'shared' }), name: 'shared-1' };
    assert.equal((await submit(body)).status, 201);
    assert.equal((await submit(body)).status, 200);
    const vera = await stackOf().call('vera@example.org', 'POST', '/v1/jobs', body);
    assert.equal(vera.status, 409, vera.text);
  });

  it('is one job, not two and not none, where the server is killed in the middle of a submit', async () => {
    const ROUNDS = 8;
    let lost = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'idempotency-key': randomUUID() };
      const body = { job: job('true', { name: `killed-${round}` }) };
      const { by, again } = placesOf(stackOf());
      const first = submit(body, { headers, ...by }).catch((error: unknown) => error);
      await sleep(round * 8);
      await stackOf().endServer('SIGKILL', 0);
      const answer = await first;
      if (answer instanceof Error || (answer as Answer).status >= 500) lost++;
      // What a balancer answers until it has seen that the server is gone is no answer of ours.
      const repeated = await until('the call is answered', async () => {
        const { status, text } = await submit(body, { headers, ...again });
        return status < 500 && { status, text };
      });
      assert.ok(repeated.status === 200 || repeated.status === 201, repeated.text);
      await stackOf().startServer(0);
    }
    assert.ok(lost > 0, 'no call was cut: the kill came too late each time');
    await until('each is listed', async () => (await named('killed')).length >= ROUNDS, 20_000);
    assert.equal((await named('killed')).length, ROUNDS);
  });

  it('started past the server is refused by name: unsigned, altered, replayed', async () => {
    const { id } = (await submit({ job: job('true', { name: 'signed' }) })).body as { id: string };
    await ended(id);
    const { client, taskQueue } = stackOf().stack;
    const signed = await inputOf(stackOf(), id);
    const plain = { v: 1 as const, job: job(), user: ALICE };
    const of = { job: 'altered', pool: 'default', project: 'vision', user: ALICE };
    const authorization = new SubmissionSigner('test-1', stackOf().signingKey).sign(of, plain, Date.now());
    const inputs: Readonly<Record<string, readonly [object, RegExp]>> = {
      unsigned: [plain, /it is not signed/],
      altered: [{ ...plain, job: job('cat /etc/shadow'), authorization }, /its input is not the one that was signed/],
      replayed: [signed, new RegExp(`it was signed for job '${id}', not 'replayed'`)],
    };
    for (const [name, [input, why]] of Object.entries(inputs)) {
      const handle = await client.workflow.start(WorkflowType.Job, { workflowId: name, taskQueue, args: [input] });
      const error = await handle.result().then(
        () => assert.fail(`${name} ran`),
        (failure: Error) => failure.cause as Error,
      );
      assert.match(error.message, why);
      assert.match(error.message, /pool default takes only jobs whose user a server has verified/);
    }
  });

  it('and the caller over a limit is told what to do, and nobody else notices', async () => {
    await stackOf().endServer('SIGTERM', 1);
    stackOf().configure(1, { limits: { submitsPerMinute: 3 } });
    await stackOf().startServer(1);
    const calls = (who: string) =>
      Promise.all(
        [1, 2, 3, 4, 5].map((round) =>
          stackOf().call(who, 'POST', '/v1/jobs', { job: {}, name: `n-${round}` }, { replica: 1 }),
        ),
      );
    const [mine, theirs] = await Promise.all([
      calls(ALICE),
      stackOf().call('vera@example.org', 'POST', '/v1/jobs', { job: {} }, { replica: 1 }),
    ]);
    assert.equal(mine.filter(({ status }) => status === 429).length, 2);
    const over = mine.find(({ status }) => status === 429);
    assert.equal(over?.body['code'], 'too-many-requests');
    assert.ok(Number(over?.headers.get('retry-after')) > 0);
    assert.match(String(over?.body['remedy']), /wait/);
    assert.equal(theirs.status, 422, theirs.text);
  });
}

/** What the job's workflow was started with, as Temporal keeps it. */
async function inputOf({ stack }: ServerStack, id: string): Promise<object> {
  const { events } = await stack.client.workflow.getHandle(id).fetchHistory();
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  const { payloadCodecs } = stack.client.options.loadedDataConverter;
  let decoded = [payload ?? assert.fail('no input')];
  for (const codec of payloadCodecs) decoded = await codec.decode(decoded);
  return JSON.parse(Buffer.from(decoded[0]?.data ?? []).toString('utf8')) as object;
}

/** A repeated call goes to the other server: by the balancer, or by its own address. */
const placesOf = ({ url, urls }: ServerStack): { readonly by: CallOptions; readonly again: CallOptions } =>
  url === urls[0] ? { by: { replica: 0 }, again: { replica: 1 } } : { by: {}, again: {} };
