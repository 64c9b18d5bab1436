import assert from 'node:assert/strict';
import { warnOfSecretIn } from '../../domain/job-file/secret-looks.js';
import { Report } from '../../domain/job-file/report.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { jobFile } from '../end-to-end/job-files.js';

const HEX = '0123456789abcdef0123456789abcdef01234567';
const warningsOf = (text: string): readonly string[] => {
  const report = new Report([]);
  warnOfSecretIn(['command', 'run'], text, report);
  return report.warnings;
};

describe('a secret in a script', () => {
  const named: Readonly<Record<string, string>> = {
    [`export WANDB_API_KEY='${HEX}'`]: 'WANDB_API_KEY',
    [`export WANDB_API_KEY="${HEX}"`]: 'WANDB_API_KEY',
    [`export A=1 B_KEY=${HEX}; python3 t.py`]: 'B_KEY',
    [`declare -x HF_TOKEN=${HEX}`]: 'HF_TOKEN',
    [`WANDB_API_KEY=${HEX} python3 t.py`]: 'WANDB_API_KEY',
    [`env OPENAI_APIKEY=${HEX} python3 t.py`]: 'OPENAI_APIKEY',
    [`docker run -e GITHUB_PAT=${HEX} image`]: 'GITHUB_PAT',
    [`ssh host "export SECRET_KEY=${HEX}"`]: 'SECRET_KEY',
    [`setenv COMET_API_KEY ${HEX}`]: 'COMET_API_KEY',
    [`python3 t.py --api-key ${HEX}`]: 'api-key',
    [`python3 t.py --wandb_token=${HEX}`]: 'wandb_token',
    'export DB_PASSWORD=short': 'DB_PASSWORD',
    'cat > .env <<X\nSMTP_PASS=longenough\nX': 'SMTP_PASS',
  };
  for (const [text, name] of Object.entries(named))
    it(`is told by its name, never by its value: ${text.replaceAll(HEX, '..')}`, () => {
      const told = warningsOf(text);
      assert.equal(told.length, 1, told.join('\n'));
      assert.match(told[0] ?? '', new RegExp(`^command\\.run: gives ${name} what looks like .*jobctl secret put`));
      assert.ok(!told.join().includes(HEX) && !told.join().includes('longenough') && !told.join().includes('short'));
    });

  const unnamed: readonly string[] = [
    `wandb login ${HEX}`,
    `wandb login --relogin ${HEX}`,
    `echo hf_${HEX} > ~/.token`,
    `git clone https://me:${HEX}@github.com/a/b`,
    `curl -H "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.x" u`,
    `x AIza${'a'.repeat(35)}`,
    `x xoxb-${HEX}`,
    `x glpat-${HEX}`,
    `cat > ~/.netrc <<X\nmachine api.wandb.ai\n  login user\n  password ${HEX}\nX`,
    `echo 'machine api.wandb.ai login user password ${HEX}' >> ~/.netrc`,
    `printf "machine api.wandb.ai\\n login user\\n password ${HEX}\\n" > ~/.netrc`,
    `echo ${HEX} > ~/.wandb`,
    `echo -n "${HEX}" > ~/.cache/huggingface/token`,
    `printf '${HEX}\\n' | sudo tee /root/.api_key`,
    `echo ${HEX} | docker login -u me --password-stdin`,
    `wandb login <<< ${HEX}`,
    `cat > ~/.wandb-token <<'X'\n${HEX}\nX`,
    `cat > keys.yaml <<X\nuser: me\nwandb_key: ${HEX}\nX`,
    `cat > ~/.kaggle/kaggle.json <<X\n{"username": "me", "key": "${HEX}"}\nX`,
  ];
  for (const text of unnamed)
    it(`is told by its form: ${text.slice(0, 24)}`, () => {
      const told = warningsOf(text);
      assert.equal(told.length, 1, told.join('\n'));
      assert.ok(!told.join().includes(HEX));
    });

  const none: readonly string[] = [
    'export WANDB_API_KEY=$KEY',
    'export WANDB_API_KEY="$(cat ~/.wandb)"',
    'export WANDB_API_KEY=`cat ~/.wandb`',
    'export SSH_KEY=~/.ssh/id_ed25519',
    'export PAD_TOKEN=pad MONKEY=bananarama TOKENIZERS_PARALLELISM=false',
    'python3 t.py --sort-key 12345678901 --max-tokens=100000000 --keyboard qwertyuiop',
    'wandb login "$WANDB_API_KEY"',
    'wandb login && python3 t.py',
    `python3 -c "wandb.login(key='\${WANDB_API_KEY}')"`,
    'git clone https://github.com/a/b@v1:x',
    'cat > ~/.netrc <<X\nmachine api.wandb.ai login user password $WANDB_API_KEY\nX',
    'printf \'machine %s login %s password %s\\n\' h u "$K" > ~/.netrc',
    `echo ${HEX} > VERSION`,
    `git checkout ${HEX} && echo ${HEX} | tee commit.txt`,
    'echo "$KEY" > ~/.wandb',
    'echo wandb is disabled > wandb.log',
    'echo starting the tokenizer > token.log',
    'cat > c.yaml <<X\nsort_key: customer_identifier\ncache_key: v1\nX',
    "python3 -c \"print({'pad_token': '<pad>', 'eos_token': 'endoftext'})\"",
    `docker pull a/b@sha256:${HEX}${HEX}`,
    'this machine has a password prompt',
  ];
  for (const text of none) it(`is not seen in ${text}`, () => assert.deepEqual(warningsOf(text), []));

  it('is told of in every script of a job file', () => {
    const secret = `export WANDB_API_KEY=${HEX}`;
    const file = jobFile(secret, {
      hooks: { success: secret, failure: { run: secret } },
      script: { run: secret },
      bundle: { dir: '.', install: secret },
      setup: { modules: ['bundle', 'script', 'mine', 'command'] },
      modules: { mine: { setup: [{ name: 'a', run: secret }] } },
    });
    const resolved = resolveJob(file);
    assert.ok(resolved.ok, JSON.stringify(resolved));
    const paths = resolved.warnings
      .filter((text) => text.includes('WANDB_API_KEY'))
      .map((text) => text.split(':')[0] ?? '');
    assert.deepEqual(
      paths.toSorted((a, b) => a.localeCompare(b)),
      [
        'bundle.install',
        'command.run',
        'hooks.failure.run',
        'hooks.success',
        'modules.mine.setup[0].run',
        'script.run',
      ],
    );
    assert.ok(!resolved.warnings.join().includes(HEX));
  });

  const KEYS = { accelerator: 'v5litepod-8', zone: 'us-central1-a' };
  const told: Readonly<Record<string, readonly [path: string, job: object]>> = {
    'an option of docker': ['docker.flags[0]', { docker: { image: 'i', flags: [`-e WANDB_API_KEY=${HEX}`] } }],
    'two options of docker': [
      'docker.flags[1]',
      { docker: { image: 'i', flags: ['--env', `WANDB_API_KEY=${HEX}`, '-e', 'HF_TOKEN', '--shm-size=16g'] } },
    ],
    'an option in one word': ['docker.flags[0]', { docker: { image: 'i', flags: [`--env=OPENAI_API_KEY=sk-${HEX}`] } }],
    'metadata of a TPU': ['tpu.metadata.wandb_key', { tpu: { ...KEYS, metadata: { wandb_key: HEX, a: 'b' } } }],
    'metadata with a dash': ['tpu.metadata.wandb-key', { tpu: { ...KEYS, metadata: { 'wandb-key': HEX } } }],
    'metadata by a flag of gcloud': [
      'tpu.metadata.wandb_key',
      { tpu: { ...KEYS, flags: [`--metadata=wandb_key=${HEX}`] } },
    ],
    'a script in metadata': [
      'tpu.metadata.user-data',
      { tpu: { ...KEYS, metadata: { 'user-data': `#!/bin/sh\nexport A_KEY=${HEX}\n` } } },
    ],
    'metadata of a VM': [
      'compute_engine.metadata.wandb_key',
      {
        tpu: null,
        compute_engine: { machine_type: 'n2-standard-8', zone: 'us-central1-a', metadata: { wandb_key: HEX } },
      },
    ],
  };
  for (const [name, [path, more]] of Object.entries(told))
    it(`is told of in ${name}`, () => {
      const resolved = resolveJob({ ...jobFile('python3 t.py'), ...more });
      assert.ok(resolved.ok, JSON.stringify(resolved));
      const warned = resolved.warnings.filter((text) => text.includes('jobctl secret put'));
      assert.deepEqual(
        warned.map((text) => text.split(':')[0]),
        [path],
        warned.join('\n'),
      );
      assert.ok(!resolved.warnings.join().includes(HEX));
    });
});
