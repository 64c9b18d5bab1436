import assert from 'node:assert/strict';
import { GatedApp } from './gated-app.js';
import type { Answer } from './server-stack.js';

const TEXT = `name: train
project: vision # its quota
x-defaults: &tpu { accelerator: v5litepod-1 }
tpu: { <<: *tpu, zone: us-central1-a }
command: { run: 'echo \${oc.env:WORD} \${oc.env:GONE,nobody}' }
env: { V: 3.10 }
`;
const JOB = {
  ...{ name: 'train', project: 'vision', 'x-defaults': { accelerator: 'v5litepod-1' } },
  tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' },
  ...{ command: { run: 'echo hello nobody' }, env: { V: '3.10' } },
};

describe('a job file as text', () => {
  let app: GatedApp;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('mine', 'alice@example.org', 'vision');
  });
  after(() => app?.stop());

  const submit = (body: object): Promise<Answer> => app.call('alice', 'POST', '/v1/jobs', body);
  const file = (text: string, name = 'job.yaml') => ({ file: { name, text } });

  it('is read as YAML 1.2, with the values that its author has, and is the job that the same JSON is', async () => {
    const asText = await submit({ ...file(TEXT), env: { WORD: 'hello' }, name: 'train-1' });
    assert.equal(asText.status, 201, asText.text);
    const asJson = await submit({ job: JOB, name: 'train-1' });
    assert.deepEqual(asText.body['spec'], asJson.body['spec']);
    const json = await submit({ ...file(JSON.stringify(JOB), 'job.json'), name: 'train-1' });
    assert.deepEqual(json.body['spec'], asJson.body['spec']);
  });

  it('can be JSON whose values come from the environment', async () => {
    const job = { ...JOB, command: { run: 'echo ${oc.env:WORD}' } };
    const { body, text } = await submit({ job, env: { WORD: 'hello' } });
    assert.deepEqual((body['spec'] as { command?: { run: string } }).command?.run, 'echo hello', text);
  });

  const bomb = `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 8 }, (_, at) => `a${at + 1}: &a${at + 1} [${Array.from({ length: 10 }, () => `*a${at}`).join(',')}]\n`).join('')}`;
  const wrong: Readonly<Record<string, readonly [body: object, says: RegExp]>> = {
    'is no YAML': [file('a: [1\n'), /^job\.yaml:\d+:\d+: not YAML: /],
    'has a wrong key, with its line': [file('name: a\ncomand: {}\n'), /^job\.yaml:2:1: comand: no such key/m],
    'names a variable that is not given': [
      file(TEXT),
      /^job\.yaml:5:\d+: run: '\$\{oc\.env:WORD\}': no variable WORD in the environment/m,
    ],
    'has aliases that multiply': [file(bomb), /aliases \(\*\) that multiply beyond measure/],
    'has more keys than can be compared': [
      file(`env:\n${Array.from({ length: 20_000 }, (_, at) => ` K${at}: 1\n`).join('')}`),
      /^job\.yaml:1:1: not YAML: more keys than any job file has/,
    ],
    'is of another tool': [file('resources: {accelerators: "A100:1"}\nrun: x\n'), /a job file \(YAML\) is wanted/],
    'comes beside JSON': [{ ...file(TEXT), job: JOB }, /^a call has `job` or `file`, not both$/],
    'is missing': [{}, /job file/],
  };
  for (const [name, [body, says]] of Object.entries(wrong))
    it(`is refused if it ${name}`, async () => {
      const { status, body: problem } = await submit(body);
      assert.deepEqual([status, problem['code']], [422, 'invalid'], JSON.stringify(problem));
      assert.match(String(problem['detail']), says);
    });

  it('is an edit of a job too, which needs the right to one', async () => {
    const path = '/v1/jobs/mine/restart';
    const edit = { ...file(TEXT), env: { WORD: 'hello' }, replace: 'all' };
    const refused = await app.call('vera', 'POST', path, edit);
    assert.deepEqual([refused.status, refused.body['code']], [403, 'forbidden'], refused.text);
    const { status, text } = await app.call('alice', 'POST', path, edit);
    assert.equal(status, 200, text);
    const told = { verb: 'restart', id: 'mine', by: 'alice@example.org', job: JOB, source: TEXT, replace: 'all' };
    assert.deepEqual(app.told.at(-1), told);
    const broken = await app.call('alice', 'POST', path, file('a: [1\n'));
    assert.match(String(broken.body['detail']), /^job\.yaml:\d+:\d+: not YAML: /);
  });
});
