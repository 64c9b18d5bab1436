import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { serverLogin } from '../../cli/place/connect.js';
import { type ContextFlags, resolveContext } from '../../cli/place/context.js';
import { type Ended, jobctl } from './command-line.js';

/** Where nobody listens. */
const [PROD, OTHER, STACK] = ['127.0.0.1:1', '127.0.0.1:2', '127.0.0.1:3'] as const;

describe('contexts', function () {
  this.timeout(60_000);
  let folder: string;
  let file: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'jobctl-contexts-'));
    file = join(folder, 'config/jobctl/contexts.toml');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    XDG_STATE_HOME: join(folder, 'state'),
    JOBCTL_HOME: '',
    ...more,
  });
  const run = (args: readonly string[], more?: Readonly<Record<string, string>>): Promise<Ended> =>
    jobctl(args, environment(more));
  const resolved = (flags: ContextFlags = {}, more?: Readonly<Record<string, string>>) =>
    resolveContext(flags, environment(more));
  const write = (text: string, mode = 0o600): void => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode });
    chmodSync(file, mode);
  };
  const withStack = (): void => {
    mkdirSync(join(folder, 'state/jobctl'), { recursive: true });
    const temporal = { address: STACK, namespace: 'default', uiUrl: null };
    const stack = { temporal, store: { bucket: 'stack' }, cloud: {}, googleProject: 'p', label: 'REHEARSAL' };
    writeFileSync(join(folder, 'state/jobctl/context.json'), JSON.stringify(stack));
  };
  const withProfile = (): void => {
    mkdirSync(join(folder, 'config/temporalio'), { recursive: true });
    writeFileSync(join(folder, 'config/temporalio/temporal.toml'), `[profile.default]\naddress = "${OTHER}"\n`);
  };
  const two = `current = "prod"\n\n[contexts.prod] # ours\naddress = "${PROD}"\nbucket = "b"\nuser = "alice"\nproject = "vision"\n\n[contexts.test]\naddress = "${OTHER}"\nrehearsal = true\n`;

  describe('the verbs', () => {
    it('make, show, use and remove one; the file is its owner’s alone', async () => {
      const made = await run(['context', 'set', 'prod', '--temporal-address', PROD, '--bucket', 'b']);
      assert.deepEqual([made.exitCode, made.stderr], [0, '']);
      assert.match(
        made.stdout,
        /^context prod is made in \S+contexts\.toml\nIt is the first, so it is used from now on\.\n$/,
      );
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.match(
        (await run(['context', 'set', 'test', '--temporal-address', OTHER, '--rehearsal'])).stdout,
        /To use it: jobctl context use test/,
      );
      const { stdout: list } = await run(['context', 'ls']);
      assert.match(list, /\* +prod +127\.0\.0\.1:1 +default +b\n +test +127\.0\.0\.1:2 +default +REHEARSAL\n$/);
      assert.equal((await run(['context', 'use', 'test'])).exitCode, 0);
      assert.equal(resolved().temporal.address, OTHER);
      assert.match((await run(['context', 'rm', 'test'])).stdout, /is removed from .*\nNo context is current now/);
      assert.equal((await run(['list'])).exitCode, 2);
    });

    it('change one setting and leave every other line, comments too', async () => {
      write(two);
      await run(['context', 'set', 'prod', '--bucket', 'c', '--namespace', 'ml', '--unset', 'user']);
      const wanted = two
        .replace('"b"', '"c"')
        .replace('user = "alice"\n', '')
        .replace('"vision"\n', '"vision"\nnamespace = "ml"\n');
      assert.equal(readFileSync(file, 'utf8'), wanted);
    });

    it('show what the next command uses, where it comes from, and what it wins over', async () => {
      write(two);
      withStack();
      const { stdout } = await run(['context', 'show'], { JOBCTL_BUCKET: 'mine' });
      assert.match(stdout, /^Context prod\n/);
      assert.match(stdout, /\naddress +127\.0\.0\.1:1 +context prod\n/);
      assert.match(stdout, /\nbucket +mine +the environment, not b of context prod\n/);
      assert.match(
        stdout,
        /\nPassed over: the local stack \(127\.0\.0\.1:3\), since context prod names another server\.\n$/,
      );
    });
  });

  describe('the server that a verb talks to is the first of', () => {
    const address = (flags: ContextFlags = {}, more?: Readonly<Record<string, string>>) =>
      resolved(flags, more).temporal.address;
    beforeEach(() => {
      write(two);
      withStack();
      withProfile();
    });

    it('flag, --context, environment, JOBCTL_CONTEXT, current context, Temporal’s profile, local stack', () => {
      const env = { TEMPORAL_ADDRESS: 'env:4', JOBCTL_CONTEXT: 'test' };
      assert.equal(address({ temporalAddress: 'flag:5', context: 'prod' }, env), 'flag:5');
      assert.equal(address({ context: 'prod' }, env), PROD);
      assert.equal(address({}, env), 'env:4');
      assert.equal(address({}, { JOBCTL_CONTEXT: 'test' }), OTHER);
      assert.equal(address(), PROD);
      write(two.replace('current = "prod"\n', ''));
      assert.equal(address(), OTHER, "Temporal's profile");
      rmSync(join(folder, 'config/temporalio'), { recursive: true });
      assert.equal(address(), STACK);
      assert.equal(address({ context: 'local' }, env), STACK);
    });

    it('a stored context yields to a JOBCTL_HOME that was set by hand and has a stack: it may be of another shell', () => {
      const byHand = { JOBCTL_HOME: join(folder, 'state/jobctl') };
      assert.equal(address({}, byHand), STACK);
      assert.equal(resolved({}, byHand).user, undefined, 'the user of the stored context comes along');
      assert.equal(address({}, { ...byHand, JOBCTL_CONTEXT: 'test' }), OTHER);
      assert.equal(address({ context: 'prod' }, byHand), PROD);
      assert.equal(address({}, { ...byHand, TEMPORAL_ADDRESS: 'env:4' }), 'env:4');
      assert.equal(address({}, { JOBCTL_HOME: join(folder, 'nothing-here') }), PROD);
    });

    it('what belongs to another server does not come along', () => {
      const elsewhere = resolved({}, { TEMPORAL_ADDRESS: 'env:4' });
      assert.deepEqual([elsewhere.store, elsewhere.user, elsewhere.label], [undefined, undefined, undefined]);
      const same = resolved({}, { TEMPORAL_ADDRESS: PROD });
      assert.deepEqual([same.store, same.user, same.project], [{ bucket: 'b' }, 'alice', 'vision']);
      assert.equal(resolved({ context: 'test' }).label, 'REHEARSAL');
      assert.equal(resolved({ context: 'prod' }, { TEMPORAL_NAMESPACE: 'x' }).temporal.namespace, undefined);
    });

    it('a context of the local stack that is not there is no other server', () => {
      rmSync(join(folder, 'state'), { recursive: true });
      assert.equal(resolved({ context: 'local' }).missingStack, join(folder, 'state/jobctl'));
      assert.equal(resolved({ context: 'local' }).temporal.address, undefined);
    });
  });

  describe('are told', () => {
    it('by every verb that changes something, on stderr, before it connects', async () => {
      write(two);
      const verbs = [
        ['cancel', 'j'],
        ['stop', 'j'],
        ['delete', 'j', '--yes'],
        ['quota', 'freeze'],
      ];
      const ended = await Promise.all(verbs.map((args) => run([...args, '--context', 'test'])));
      for (const { stderr } of ended)
        assert.match(stderr, /^context test: 127\.0\.0\.1:2, REHEARSAL\nTemporal at 127\.0\.0\.1:2 cannot be reached/);
      const byEnvironment = await run(['cancel', 'j'], { TEMPORAL_ADDRESS: 'localhost:9' });
      assert.match(byEnvironment.stderr, /^server localhost:9\nTemporal at localhost:9 /);
    });

    it('by verbs that read, in a pipe, only if the server cannot be reached', async () => {
      write(two);
      const { stderr } = await run(['list']);
      assert.match(stderr, /^Temporal at 127\.0\.0\.1:1 cannot be reached[^]*\n {2}context prod names this server; /);
    });
  });

  describe('--dry-run prints the file with their project and user', () => {
    const dryRun = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
      const { exitCode, stdout, stderr } = await run(['submit', ...args, '--dry-run', '-o', 'json', '--', 'true']);
      assert.deepEqual([exitCode, stderr], [0, '']);
      const { project, user } = JSON.parse(stdout) as Record<string, unknown>;
      return { project, user };
    };
    const job = ['--tpu', 'v5litepod-8', '--zone', 'us-central1-a'];
    beforeEach(() => write(two));

    it('as the submit would take them', async () => {
      assert.deepEqual(await dryRun(...job), { project: 'vision', user: 'alice' });
      assert.deepEqual(await dryRun(...job, '--context', 'prod'), { project: 'vision', user: 'alice' });
    });

    it('flags win, and a context without them adds nothing, as the local stack', async () => {
      const flags = ['--project', 'speech', '--user', 'bob'];
      assert.deepEqual(await dryRun(...job, ...flags), { project: 'speech', user: 'bob' });
      for (const other of [['--context', 'test'], ['--local']])
        assert.deepEqual(await dryRun(...job, ...other), { project: undefined, user: undefined });
    });

    it('a context that does not exist is refused', async () => {
      const { exitCode, stderr } = await run(['submit', ...job, '--dry-run', '--context', 'prd', '--', 'true']);
      assert.deepEqual([exitCode, stderr.split('\n')[0]], [2, `--context: there is no context 'prd' in ${file}`]);
    });
  });

  describe('bad input', () => {
    const cases: Record<
      string,
      { text: string; mode?: number; args?: readonly string[]; more?: Record<string, string>; wants: RegExp }
    > = {
      'an unknown context, with the nearest': {
        text: two,
        args: ['list', '--context', 'prd'],
        wants:
          /^--context: there is no context 'prd' in \S+\n {2}the nearest is prod\n {2}there are: prod, test, local\n {2}to make it: jobctl context set prd --server URL, or --temporal-address HOST:PORT\n$/,
      },
      'an unknown context of the environment': {
        text: two,
        more: { JOBCTL_CONTEXT: 'x' },
        wants: /^JOBCTL_CONTEXT: there is no context 'x' in /,
      },
      'an unknown current context': {
        text: two.replace('"prod"', '"prd"'),
        wants: /contexts\.toml:1:11: current: there is no context 'prd'\n {2}there are: prod, test, local\n/,
      },
      'a file that is not TOML': { text: '[contexts.prod]\naddress = \n', wants: /contexts\.toml:2:\d+: not TOML: / },
      'an unknown key': {
        text: `[contexts.prod]\naddress = "${PROD}"\nbuckett = "b"\n`,
        wants: /contexts\.toml:3:1: buckett: is not a key of contexts\n {2}the nearest is bucket\n/,
      },
      'a context without a server': {
        text: '[contexts.prod]\nbucket = "b"\n',
        wants:
          /contexts\.toml:1:\d+: prod: names no server\n {2}server = "https:\/\/HOST", or address = "HOST:PORT" of Temporal\n/,
      },
      'an address without a port': {
        text: '[contexts.prod]\naddress = "prod.example.com"\n',
        wants: /:2:11: address: 'prod\.example\.com' is not HOST:PORT\n/,
      },
      'a key where a reference belongs, which is not repeated': {
        text: `[contexts.prod]\naddress = "${PROD}"\napi_key = "s3cret"\n`,
        wants: /^(?![^]*s3cret)\S+:3:\d+: api_key: is no reference to a key\n {2}wanted file:\/\/\/PATH or env:NAME/,
      },
      'a file that others can open, with an API key': {
        text: `[contexts.prod]\naddress = "${PROD}"\napi_key = "env:K"\n`,
        mode: 0o644,
        wants: /contexts\.toml: others can open it \(mode 644\), and context prod names an API key\n {2}chmod 600 /,
      },
      'a certificate that is missing': {
        text: `current = "prod"\n[contexts.prod]\naddress = "${PROD}"\ntls_ca_file = "/no/ca.pem"\n`,
        wants: /^context prod: tls_ca_file: \/no\/ca\.pem cannot be read: it does not exist\n/,
      },
      'a certificate without its key': {
        text: `current = "prod"\n[contexts.prod]\naddress = "${PROD}"\ntls_cert_file = "/etc/hostname"\n`,
        wants: /^context prod: tls_cert_file and tls_key_file belong together, and tls_key_file is missing\n/,
      },
      'an API key whose variable is not set': {
        text: `current = "prod"\n[contexts.prod]\naddress = "${PROD}"\napi_key = "env:NO_SUCH"\n`,
        wants: /^context prod: api_key: the environment variable NO_SUCH is not set\n/,
      },
    };
    for (const [name, { text, mode, args = ['list'], more, wants }] of Object.entries(cases))
      it(name, async () => {
        write(text, mode);
        const { exitCode, stdout, stderr } = await run(args, more);
        assert.match(stderr, wants);
        assert.deepEqual([exitCode, stdout], [2, ''], stderr);
      });

    it('of context set leaves the file as it was', async () => {
      write(two);
      const wrong: Readonly<Record<string, RegExp>> = {
        'local --temporal-address a:1': /^context local: the name is that of the local stack\n/,
        'a.b --temporal-address a:1': /^context 'a\.b': is not a name: /,
        'new --bucket b': /^context new: is new, and needs a server\n/,
        'prod --tls-ca-file ca.pem': /^--tls-ca-file: 'ca\.pem' is not an absolute path\n/,
        'prod --api-key s3cret': /^(?![^]*s3cret)--api-key: is no reference to a key\n/,
        'prod --unset adress': /^--unset: 'adress' is not a key of contexts\n/,
        'prod --unset address': /^context prod: cannot be without a server\n/,
        prod: /^context prod: nothing to set\n/,
      };
      for (const [line, wants] of Object.entries(wrong)) {
        const { exitCode, stderr } = await run(['context', 'set', ...line.split(' ')]);
        assert.match(stderr, wants);
        assert.equal(exitCode, 2, line);
      }
      assert.equal(readFileSync(file, 'utf8'), two);
    });

    it('a private key that others can read is not used', () => {
      const key = join(folder, 'key');
      writeFileSync(key, 'k3y', { mode: 0o644 });
      chmodSync(key, 0o644);
      assert.throws(
        () => serverLogin({ api_key: `file://${key}` }, 'prod'),
        /others can read it \(mode 644\)\n {2}chmod 600 /,
      );
      chmodSync(key, 0o600);
      assert.deepEqual(serverLogin({ api_key: `file://${key}` }, 'prod'), { tls: {}, apiKey: 'k3y' });
    });
  });

  it('help of a verb names --context in one line, and `help where` the rest', async () => {
    const { stdout } = await run(['status', '--help']);
    assert.match(stdout, /--context <name> +use this context; `jobctl help where` has other ways\n/);
    assert.doesNotMatch(stdout, /temporal-address/);
    const where = await run(['help', 'where']);
    assert.equal(where.exitCode, 0);
    assert.match(where.stdout, /--temporal-address <host:port> +TEMPORAL_ADDRESS +the Temporal server\n/);
  });
});
