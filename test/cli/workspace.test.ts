import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  addInclude,
  aliasOf,
  includeLine,
  isIncluded,
  refreshAliases,
  removeEnded,
  writeAliases,
} from '../../cli/jobs/hosts/ssh-alias.js';
import type { SshReach } from '../../cli/jobs/hosts/reach.js';
import type { JobRow } from '../../client/job-rows.js';
import { JobNotFound } from '../../client/errors.js';
import { jobctl } from './command-line.js';

const TPU = ['--tpu', 'v5litepod-8', '--zone', 'us-central1-a'];

describe('jobctl workspace', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'workspace-'))));
  after(() => rmSync(folder, { recursive: true }));

  const inFolder = (...words: string[]) => jobctl(['workspace', ...words], { HOME: folder }, folder);
  const file = (name: string, ...lines: string[]): string => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
    return name;
  };

  it('is a job file without a command, which --dry-run prints', async () => {
    const byFlags = await inFolder(...TPU, '--idle', '30m', '--for', '8h', '--dry-run');
    assert.equal(byFlags.exitCode, 0, byFlags.stderr);
    assert.match(byFlags.stdout, /^workspace:\n {2}idle: 30m$/m);
    assert.match(byFlags.stdout, /^timeouts:\n {2}run: 8h$/m);
    const train = file(
      'train.yaml',
      'tpu: {accelerator: v5litepod-8, zone: us-central1-a}',
      'setup: {modules: [script, command]}',
      'script: {run: "true"}',
      'command: {run: python3 train.py}',
    );
    const ofFile = await inFolder(train, '--dry-run', '-o', 'json');
    assert.equal(ofFile.exitCode, 0, ofFile.stderr);
    const { command, workspace, setup } = JSON.parse(ofFile.stdout) as Record<string, unknown>;
    assert.deepEqual([command, workspace, setup], [null, {}, { modules: ['script'] }]);
  });

  const wrong: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
    'nothing to ask for': [[], /^jobctl workspace: neither a job file nor --tpu is given$/m],
    'a number for --idle': [
      [...TPU, '--idle', '30'],
      /^--idle: workspace\.idle: '30' is not a duration with its unit/m,
    ],
    'no end at all': [[...TPU, '--idle', 'never'], /would never be given back\n.*timeouts: \{run: 8h\}/],
    'a time of days': [[...TPU, '--for', '2d'], /^--for: timeouts\.run: .*days are no unit here: 2d is 48h/m],
    'an id that is none': [[...TPU, '--name', 'Exp_7'], /^--name: 'Exp_7' is not/m],
    'a file that is not there': [['none.yaml'], /^none\.yaml: /m],
    'words of a command': [[...TPU, '--', 'bash'], /--/],
  };
  for (const [name, [words, want]] of Object.entries(wrong))
    it(`refuses ${name}`, async () => {
      const { exitCode, stdout, stderr } = await inFolder(...words);
      assert.deepEqual([exitCode, stdout], [2, ''], stderr);
      assert.match(stderr, want);
    });

  it('refuses an array: one workspace is wanted', async () => {
    const sweep = file(
      'sweep.yaml',
      'tpu: {accelerator: v5litepod-8, zone: us-central1-a}',
      'array: {matrix: {a: 1..2}}',
    );
    const { exitCode, stderr } = await inFolder(sweep);
    assert.equal(exitCode, 2);
    assert.match(stderr, /sweep\.yaml is an array, and one workspace is wanted/);
  });
});

describe('names of hosts for ssh', () => {
  let home: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'ssh names-'));
    env = { HOME: home, JOBCTL_HOME: join(home, 'state'), TEMPORAL_ADDRESS: 'a:7233', TEMPORAL_API_KEY: 'hush' };
  });
  afterEach(() => rmSync(home, { recursive: true }));

  const reachOf = (publicKey: string, key: SshReach['key'] = { text: 'KEY' }): SshReach => {
    const hosts = [0, 1].map((number) => ({
      ...{ number, node: `n-${number}` },
      target: { reach: 'ssh' as const, uid: 'u', slice: 0, index: number, address: '10.0.0.1', user: 'ann' },
    }));
    const keys = new Map(hosts.map((host) => [host, { publicKey }]));
    return { by: 'ssh', job: 'exp-7', hosts, keys, key } as unknown as SshReach;
  };

  it('name user, key and host key, and neither an address nor a secret of the environment', () => {
    const flags = { proxyCommand: 'gcloud start-iap-tunnel %n 50%%', namespace: "o'brien" };
    const { config, aliases } = writeAliases(reachOf('ssh-ed25519 AAAA'), flags, env);
    assert.deepEqual(
      aliases.map(({ alias }) => alias),
      ['exp-7', 'exp-7.1'],
    );
    const text = readFileSync(config, 'utf8');
    assert.match(
      text,
      /^Host exp-7\.1\n {2}HostName exp-7\.1\n {2}User ann\n {2}IdentityFile "\/.+ names-.+identity"$/m,
    );
    assert.match(text, / ssh exp-7 --host 1 --stdio --namespace 'o'\\''brien' --proxy-command '.*%%n 50%%%%'$/m);
    assert.match(text, / env '?JOBCTL_HOME=.* TEMPORAL_ADDRESS=a:7233 /);
    assert.doesNotMatch(text, /hush|10\.0\.0\.1/);
    const folder = join(home, 'state/ssh-config/exp-7');
    assert.equal(statSync(join(folder, 'identity')).mode & 0o777, 0o600);
    assert.equal(readFileSync(join(folder, 'known_hosts-1'), 'utf8'), 'jobctl-exp-7-1 ssh-ed25519 AAAA\n');
  });

  it('get the keys of the hosts that are there now; a key in a file of the user’s is not copied', () => {
    const key = { text: 'KEY', file: '/home/ann/.ssh/id' };
    refreshAliases(reachOf('ssh-ed25519 AAAA', key), env);
    assert.equal(existsSync(join(home, 'state')), false, 'nothing is written for a job without names');
    const { config } = writeAliases(reachOf('ssh-ed25519 AAAA', key), {}, env);
    assert.match(readFileSync(config, 'utf8'), /^ {2}IdentityFile "\/home\/ann\/\.ssh\/id"$/m);
    refreshAliases(reachOf('ssh-ed25519 BBBB', key), env);
    const folder = join(home, 'state/ssh-config/exp-7');
    assert.equal(readFileSync(join(folder, 'known_hosts-0'), 'utf8'), 'jobctl-exp-7-0 ssh-ed25519 BBBB\n');
    assert.equal(existsSync(join(folder, 'identity')), false);
  });

  it('are included by one line at the top of the user’s file, which keeps its text and its mode', () => {
    addInclude(env);
    const file = join(home, '.ssh/config');
    assert.deepEqual([readFileSync(file, 'utf8'), statSync(file).mode & 0o777], [`${includeLine(env)}\n`, 0o600]);
    writeFileSync(file, 'Host *\n  User bob\n');
    chmodSync(file, 0o640);
    assert.equal(isIncluded(env), false);
    for (let times = 0; times < 2; times++) addInclude(env);
    assert.equal(readFileSync(file, 'utf8'), `${includeLine(env)}\n\nHost *\n  User bob\n`);
    assert.equal(statSync(file).mode & 0o777, 0o640);
  });

  it('keep bytes of the user’s file that are not UTF-8, and are not there below a Host', () => {
    addInclude(env);
    const file = join(home, '.ssh/config');
    const bytes = Buffer.concat([
      Buffer.from('# M'),
      Buffer.from([0xfc]),
      Buffer.from(`ller\nHost x\n  ${includeLine(env)}\n`),
    ]);
    writeFileSync(file, bytes);
    assert.equal(isIncluded(env), false);
    addInclude(env);
    assert.deepEqual(readFileSync(file), Buffer.concat([Buffer.from(`${includeLine(env)}\n\n`), bytes]));
    assert.equal(isIncluded(env), true);
  });

  it('are not added in the place of a link whose file is away', () => {
    mkdirSync(join(home, '.ssh'));
    symlinkSync(join(home, 'dotfiles/config'), join(home, '.ssh/config'));
    assert.throws(() => addInclude(env), /is a link to a file that is not there/);
    assert.ok(lstatSync(join(home, '.ssh/config')).isSymbolicLink());
  });

  const UNWRITABLE: Readonly<Record<string, readonly [RegExp, () => unknown]>> = {
    'a user of two lines': [
      /^--login: .*is no name of a user/,
      () => writeAliases(reachAs('x\n  ProxyCommand touch /tmp/pwned'), {}, env),
    ],
    'no user': [/^--login: /, () => writeAliases(reachAs(''), {}, env)],
    'a proxy command of two lines': [
      /^--proxy-command: .*line break/,
      () => writeAliases(reachOf('k'), { proxyCommand: 'nc\nHost *' }, env),
    ],
    'a variable of two lines': [
      /^JOBCTL_SSH_PROXY_COMMAND: .*line break/,
      () => writeAliases(reachOf('k'), {}, { ...env, JOBCTL_SSH_PROXY_COMMAND: 'a\nb' }),
    ],
    'a key whose path has a quote': [
      /^--identity: .*cannot stand in/,
      () => writeAliases(reachOf('k', { text: 'KEY', file: '/home/ann/my "key"' }), {}, env),
    ],
    ...Object.fromEntries(
      ['"', '\n', '${HOME}', '[ab]', '\\'].map((part) => [
        `a state folder with ${JSON.stringify(part)}`,
        [
          /^JOBCTL_HOME: .*cannot stand in/,
          () => writeAliases(reachOf('k'), {}, { ...env, JOBCTL_HOME: join(home, `s${part}`) }),
        ] as const,
      ]),
    ),
  };
  const reachAs = (user: string): SshReach => {
    const reach = reachOf('k');
    return { ...reach, hosts: reach.hosts.map((host) => ({ ...host, target: { ...host.target, user } })) };
  };
  for (const [name, [wanted, writing]] of Object.entries(UNWRITABLE))
    it(`are refused, and nothing is written, with ${name}`, () => {
      assert.throws(writing, { message: wanted });
      assert.deepEqual(readdirSync(home), []);
    });

  it('are removed with the key when the job has ended, and stay where nobody knows it', async () => {
    for (const job of ['open-1', 'ended-1', 'elsewhere-1'])
      mkdirSync(join(home, 'state/ssh-config', job), { recursive: true });
    await removeEnded(
      {
        row: async (id) => {
          if (id.startsWith('elsewhere')) throw new JobNotFound(id, 'default');
          return { id, phase: 'holding', ...(id.startsWith('ended') && { endedAt: 1 }) } as JobRow;
        },
      },
      env,
    );
    const left = ['open-1', 'ended-1', 'elsewhere-1'].map((job) => existsSync(join(home, 'state/ssh-config', job)));
    assert.deepEqual(left, [true, false, true]);
  });

  it('are the job’s own for its first host, and no other job’s for the others', () =>
    assert.deepEqual([aliasOf('exp-7', 0), aliasOf('exp-7', 3)], ['exp-7', 'exp-7.3']));
});
