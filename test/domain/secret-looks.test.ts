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
});
