import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';

/**
 * F17: people wrote tokens into `env`, and they stood in the history and in spec.yaml. At 19b9c1e `submit` and `validate` said
 * nothing of any of these.
 */
const JOB = { tpu: { accelerator: 'v5litepod-1', zone: 'us-central1-a' }, keep: 'never' };
const TOKEN = 'hf_PLAINTEXTSECRET123';

const SECRETS: Readonly<Record<string, readonly [env: readonly [string, string], looks: string]>> = {
  'a token by its beginning': [['X', TOKEN], 'a token of Hugging Face'],
  'a token of GitHub, in a text': [['URL', `https://x:ghp_${'a'.repeat(36)}@github.com`], 'a token of GitHub'],
  'a key by its beginning': [['X', `sk-${'a1'.repeat(12)}`], 'an API key'],
  'a key of AWS': [['X', 'AKIAIOSFODNN7EXAMPLE'], 'an access key of AWS'],
  'a private key': [['X', '-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn'], 'a private key'],
  'a name that ends with TOKEN': [['MY_TOKEN', 'c0ffee-c0ffee'], 'a secret'],
  'a name that ends with KEY': [['WANDB_API_KEY', 'c0ffee-c0ffee'], 'a secret'],
  'a name that ends with SECRET, in small letters': [['client_secret', 'c0ffee-c0ffee'], 'a secret'],
  'a short password': [['DB_PASSWORD', 'a'], 'a secret'],
};
const NONE: Readonly<Record<string, readonly [string, string]>> = {
  'a token of a tokenizer': ['PAD_TOKEN', '<pad>'],
  'a path': ['GOOGLE_KEY', '/etc/keys/trainer.json'],
  'a number': ['MAX_TOKEN', '123456789'],
  'a text of several words': ['SORT_KEY', 'by date and time'],
  'an empty password': ['PASSWORD', ''],
  'a certificate': ['CA', '-----BEGIN CERTIFICATE-----'],
  'another name': ['TOKENIZER', 'llama-tokenizer-3'],
};
const warningsOf = (more: object): readonly string[] => {
  const resolved = resolveJob({ ...JOB, command: { run: 'true' }, ...more });
  assert.ok(resolved.ok, 'it refuses nothing');
  return resolved.warnings;
};

describe('F17: values that look like secrets', () => {
  for (const [name, [[variable, value], looks]] of Object.entries(SECRETS))
    it(`${name}: is warned of, with what to do and without the value`, () => {
      const [warning = '', ...more] = warningsOf({ env: { [variable]: value } });
      const secret = variable.toLowerCase().replaceAll('_', '-');
      assert.equal(
        warning,
        `env.${variable}: looks like ${looks}, and a value in the job file is kept in the clear with the job. ` +
          `\`jobctl secret put ${secret} --from-file FILE\` keeps it, and secrets: {${variable}: ${secret}} gives it to the command`,
      );
      assert.deepEqual(more, []);
    });
  for (const [name, [variable, value]] of Object.entries(NONE))
    it(`${name}: is not`, () => assert.deepEqual(warningsOf({ env: { [variable]: value } }), []));

  it('in a container’s variables and in the command too', () => {
    const docker = { image: 'python:3.12-slim', env_vars: [`HF_TOKEN=${TOKEN}`] };
    const setup = { modules: ['docker', 'command'] };
    assert.match(warningsOf({ docker, setup })[0] ?? '', /^docker\.env_vars\[0\]: looks like a token of Hugging Face/);
    const [warning = ''] = warningsOf({ command: { run: `export X=${TOKEN}; python3 train.py` } });
    assert.match(warning, /^command\.run: gives X what looks like a token of Hugging Face, and is kept in the clear/);
    assert.ok(!warning.includes(TOKEN));
  });
});
