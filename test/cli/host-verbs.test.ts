import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CliError } from '../../cli/terminal/cli-error.js';
import { copyPlan, localFiles } from '../../cli/commands/verbs/cp.js';
import { parseForwardedPorts, parseHostChoice } from '../../cli/jobs/job-filter.js';
import { chooseHosts, hostsOfJob, type JobHost, type Route, routeOf } from '../../cli/jobs/hosts/job-hosts.js';
import { fileSource } from '../../cli/terminal/file-on-disk.js';
import { loginKey, knownHostsText } from '../../cli/jobs/hosts/keys.js';
import type { JobClient } from '../../client/job-client.js';
import type { JobRow } from '../../client/job-rows.js';
import { openJobKeys } from '../../cloud/job-keys/open-job-keys.js';
import { newKeyLine } from '../../cloud/keys/key-reference.js';
import type { SshTarget } from '../../cloud/hosts/port.js';
import { parseHostKey } from '../../cloud/hosts/host-key-record.js';
import { readPrivateKey } from '../../cloud/hosts/private-key.js';
import type { JobView } from '../../contract/job.js';
import { writeKeyPair } from '../end-to-end/test-stack.js';
import { refusalOf } from './command-line.js';

const isVm = (host: JobHost): host is JobHost<SshTarget> => host.target.reach === 'ssh';

describe('which hosts a verb is for', () => {
  const good: Record<string, 'all' | readonly number[]> = {
    all: 'all',
    '0': [0],
    '3,1': [3, 1],
    '0-2,7': [0, 1, 2, 7],
    '1,0-2': [1, 0, 2],
  };
  for (const [text, want] of Object.entries(good))
    it(`'${text}' is ${JSON.stringify(want)}`, () => assert.deepEqual(parseHostChoice(text), want));
  for (const wrong of ['', '-1', '2-1', '0,,1', 'a', '1.5', 'ALL', '0-9999999'])
    it(`'${wrong}' is none`, () => assert.throws(() => parseHostChoice(wrong), /A number of a host from 0/));
});

describe('ports of a tunnel', () => {
  it('one port is the same on both sides; of two the first is here', () => {
    assert.deepEqual(parseForwardedPorts('6006'), { local: 6006, remote: 6006 });
    assert.deepEqual(parseForwardedPorts('8888:80'), { local: 8888, remote: 80 });
  });
  for (const wrong of ['', '0', '65536', '80:', ':80', '1:2:3', 'http'])
    it(`'${wrong}' is none`, () => assert.throws(() => parseForwardedPorts(wrong), /A port from 1 to 65535/));
});

describe('the two sides of cp', () => {
  it('to hosts: all of them, or those that are named', () => {
    assert.deepEqual(copyPlan(['a', 'b', 'train:work/']), {
      kind: 'put',
      sources: ['a', 'b'],
      target: { job: 'train', path: 'work/' },
    });
    assert.deepEqual(copyPlan(['./x:y', 'train:0,2-3:/tmp/x']), {
      kind: 'put',
      sources: ['./x:y'],
      target: { job: 'train', hosts: [0, 2, 3], path: '/tmp/x' },
    });
  });
  it('from hosts; a path may hold colons and digits; no path is the home folder', () => {
    assert.deepEqual(copyPlan(['train:all:logs', 'train:all:12:30.txt', '.']), {
      kind: 'get',
      sources: [
        { job: 'train', hosts: 'all', path: 'logs' },
        { job: 'train', hosts: 'all', path: '12:30.txt' },
      ],
      target: '.',
    });
    assert.deepEqual(copyPlan(['train:', '/tmp']), {
      kind: 'get',
      sources: [{ job: 'train', path: '.' }],
      target: '/tmp',
    });
  });
  const wrong: Record<string, readonly string[]> = {
    'no side of it is a job': ['a', 'b'],
    'both sides are jobs': ['one:a', 'two:b'],
    'sources are of both kinds': ['one:a', 'b', 'c'],
    'from two jobs: one, two': ['one:a', 'two:a', '.'],
    "'3-1' are no hosts": ['a', 'one:3-1:b'],
  };
  for (const [said, places] of Object.entries(wrong))
    it(`${places.join(' ')}: ${said}`, () => assert.throws(() => copyPlan(places), new RegExp(said)));
});

describe('the files that are copied', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'cp-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('of a folder all that is below it, links followed, with their modes', async () => {
    mkdirSync(join(folder, 'src/sub'), { recursive: true });
    writeFileSync(join(folder, 'src/run.sh'), '');
    chmodSync(join(folder, 'src/run.sh'), 0o750);
    writeFileSync(join(folder, "src/sub/a b'c"), 'x');
    chmodSync(join(folder, "src/sub/a b'c"), 0o640);
    symlinkSync('run.sh', join(folder, 'src/z-link'));
    const found = await localFiles([join(folder, 'src/')]);
    assert.deepEqual(
      found.map(({ name, mode }) => [name, mode]),
      [
        ['src/run.sh', 0o750],
        ["src/sub/a b'c", 0o640],
        ['src/z-link', 0o750],
      ],
    );
  });

  it('two that would be one are refused, and one that is not there', async () => {
    for (const name of ['a', 'b']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'same'), name);
    }
    await assert.rejects(
      localFiles([join(folder, 'a/same'), join(folder, 'b/same')]),
      /two of the sources would be same/,
    );
    await assert.rejects(localFiles([join(folder, 'nope')]), /nope: cannot be read: it does not exist/);
  });

  it('can be read again from any byte on', async () => {
    const path = join(folder, 'f');
    writeFileSync(path, 'hello world');
    const source = await fileSource(path);
    const rest: Buffer[] = [];
    for await (const chunk of source.read(6)) rest.push(chunk);
    assert.deepEqual([source.size, Buffer.concat(rest).toString()], [11, 'world']);
    assert.equal(source.sha256, 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9');
  });
});

describe('how hosts are reached', () => {
  const stack = { temporal: {}, ssh: { port: 2022, privateKeyFile: '/k' } };
  it('a flag, else the environment, else the local stack, else port 22', () => {
    assert.deepEqual(routeOf({}, { temporal: {} }, {}), { port: 22, address: 'external' });
    assert.deepEqual(routeOf({}, stack, {}), { port: 2022, address: 'external' });
    const env = { JOBCTL_SSH_PORT: '23', JOBCTL_SSH_ADDRESS: 'internal', JOBCTL_SSH_PROXY_COMMAND: 'nc %h %p' };
    assert.deepEqual(routeOf({}, stack, env), { port: 23, address: 'internal', proxyCommand: 'nc %h %p' });
    const flags = { sshPort: 24, identity: 'key' };
    assert.deepEqual(routeOf(flags, stack, { JOBCTL_SSH_PORT: '23' }), {
      port: 24,
      address: 'external',
      identity: 'key',
    });
  });
  it("the installation's key and the secrets of job keys are named as a worker's are; --login wants a key of one's own", () => {
    const env = { JOBCTL_SSH_PRIVATE_KEY_FILE: '/k2', JOBCTL_SSH_FORMER_JOB_KEY_SECRETS: 'env:A, env:B' };
    const rest = { port: 2022, address: 'external', keyFile: '/k2' };
    assert.deepEqual(routeOf({}, stack, env), { ...rest, jobKeys: { current: undefined, former: ['env:A', 'env:B'] } });
    assert.throws(
      () => routeOf({ login: 'me' }, stack, env),
      /--login: names the user of a key of yours\n.*--identity FILE/,
    );
  });
  it('a variable that is no port is named', () => {
    assert.throws(() => routeOf({}, stack, { JOBCTL_SSH_PORT: '22b' }), /JOBCTL_SSH_PORT: '22b' is no port/);
  });
});

const FOLDER = mkdtempSync(join(tmpdir(), 'host-verbs-'));
const KEY = writeKeyPair(FOLDER);
const OTHER = writeKeyPair(mkdtempSync(join(FOLDER, 'other-')));
const publicKeyOf = (reading: ReturnType<typeof readPrivateKey>): string =>
  reading.kind === 'key' ? reading.publicKey : assert.fail(reading.what);

describe('the hosts of a job', () => {
  after(() => rmSync(FOLDER, { recursive: true, force: true }));

  const slice = (index: number, state: string): JobView['slices'][number] =>
    ({
      index,
      state,
      uid: `77${index}`,
      ref: { name: `jc-a-s${index}` },
      hosts: [0, 1].map((host) => ({ reach: 'ssh' as const, index: host, internalIp: `10.0.${index}.${host}` })),
    }) as unknown as JobView['slices'][number];
  const clientOf = (view: Partial<JobView>, row: Partial<JobRow> = {}): JobClient =>
    ({
      row: async () => ({ phase: 'running', ...row }),
      describe: async () => ({ phase: 'running', spec: { slices: 2 }, login: { user: 'me', publicKey: '' }, ...view }),
    }) as unknown as JobClient;

  it('are numbered over all slices, also while one of them is being replaced', async () => {
    const all = await hostsOfJob(clientOf({ slices: [slice(0, 'ready'), slice(1, 'ready')] }), 'a');
    assert.deepEqual(
      all.hosts.filter(isVm).map(({ number, node, target }) => [number, node, target.address, target.user]),
      [
        [0, 'jc-a-s0', '10.0.0.0', 'me'],
        [1, 'jc-a-s0', '10.0.0.1', 'me'],
        [2, 'jc-a-s1', '10.0.1.0', 'me'],
        [3, 'jc-a-s1', '10.0.1.1', 'me'],
      ],
    );
    const some = await hostsOfJob(clientOf({ slices: [slice(0, 'lost'), slice(1, 'ready')] }), 'a');
    assert.deepEqual(
      some.hosts.map(({ number }) => number),
      [2, 3],
    );
    assert.throws(() => chooseHosts(some, [0]), /a has no host 0: it has the hosts 2, 3 now/);
    assert.throws(() => chooseHosts(all, [9]), /a has no host 9: it has 4 hosts, 0 to 3/);
    assert.deepEqual(
      chooseHosts(all, [3, 0]).map(({ number }) => number),
      [3, 0],
    );
  });

  /** Anybody who may start a workflow can have its description say this. */
  const forged: Readonly<Record<string, readonly [facts: object, said: RegExp]>> = {
    'an address that is an option of ssh': [{ internalIp: '-oProxyCommand=touch x' }, /its address is said to be "-oP/],
    'an external one': [{ externalIp: '-F/tmp/x' }, /its address is said to be "-F/],
    'an internal one': [{ externalIp: '10.0.0.1', internalIp: '-F/tmp/x' }, /internal address is said to be "-F/],
    'an address with another user': [{ internalIp: 'root@10.0.0.1' }, /its address/],
    'an address with a line end': [
      { internalIp: '10.0.0.1\nProxyCommand x' },
      /its address is said to be "10\.0\.0\.1\\n/,
    ],
    'a position that is none': [{ index: 'x y' }, /its position/],
    'a pod of another path': [
      { reach: 'pod', namespace: 'ml', pod: '../../../x', uid: 'u' },
      /its pod is said to be "\.\.\/\.\.\/\.\.\/x", which is none/,
    ],
    'a namespace of another path': [{ reach: 'pod', namespace: 'a/b', pod: 'p', uid: 'u' }, /its namespace/],
    'a port that is none': [
      { own: { pool: 'p', name: 'n', port: 0, user: 'me', claim: 'c' } },
      /its port is said to be "0"/,
    ],
    'a user that is an option': [{ own: { pool: 'p', name: 'n', port: 22, user: '-oX', claim: 'c' } }, /its user/],
  };
  for (const [name, [facts, said]] of Object.entries(forged))
    it(`with ${name} are not connected to`, async () => {
      const one = slice(0, 'ready');
      const hosts = [{ ...one.hosts[0], ...facts }];
      await assert.rejects(hostsOfJob(clientOf({ slices: [{ ...one, hosts } as never] }), 'a'), said);
    });
  for (const wrong of ['-oProxyCommand=x', 'me x', 'me\n* ssh-ed25519 AAAA', '$(x)'])
    it(`with a login user ${JSON.stringify(wrong)} are not connected to`, async () => {
      const view = { slices: [slice(0, 'ready')], login: { user: wrong, publicKey: '' } };
      await assert.rejects(hostsOfJob(clientOf(view), 'a'), /its user is said to be/);
      const record = { version: 1, publicKey: 'ssh-ed25519 AAAA', source: 'first-use', at: 0, user: wrong };
      assert.throws(() => parseHostKey(JSON.stringify(record), 'o'), /o: is no host key record/);
    });
  it('with an id that is a pattern of known_hosts are not connected to', async () => {
    const view = { slices: [{ ...slice(0, 'ready'), uid: '* ssh-ed25519 AAAA\njobctl-1' }] };
    await assert.rejects(hostsOfJob(clientOf(view), 'a'), /its id is said to be/);
  });

  it('one that has none yet, and one that has ended, say so', async () => {
    const queued = clientOf({ slices: [], phase: 'queued', why: 'waits for quota' });
    await assert.rejects(
      hostsOfJob(queued, 'a'),
      /a has no hosts now: it is queued \(waits for quota\)\n.*jobctl why a/,
    );
    const ended = clientOf({}, { endedAt: 1, phase: 'failed' });
    await assert.rejects(hostsOfJob(ended, 'a'), /a has ended \(failed\): its hosts are gone\n.*jobctl logs a/);
  });

  it('are logged in to with the key that they accept, and with no other', async () => {
    const login = { user: 'me', publicKey: publicKeyOf(readPrivateKey(readFileSync(KEY.privateKeyFile, 'utf8'))) };
    const job = { job: 'a', view: { spec: {} } as JobView, login, hosts: [] };
    const route = { port: 22, address: 'external' } as const;
    const keyFor = (asked: Route, isUnderOsLogin = false): ReturnType<typeof loginKey> =>
      loginKey(job, { route: asked, context: { temporal: {} }, isUnderOsLogin });
    for (const by of ['identity', 'keyFile']) {
      const found = await keyFor({ ...route, [by]: KEY.privateKeyFile });
      assert.equal(found.file, KEY.privateKeyFile);
    }
    const mine = { ...route, identity: OTHER.privateKeyFile, login: 'me' };
    assert.equal((await keyFor(mine)).file, OTHER.privateKeyFile);
    // Google says who may log in there, and the key in the metadata does not count.
    assert.equal((await keyFor({ ...route, keyFile: OTHER.privateKeyFile }, true)).file, OTHER.privateKeyFile);
    await assert.rejects(
      keyFor({ ...route, keyFile: OTHER.privateKeyFile }),
      /not on this computer \(\S+ is SHA256:\S{43}\)/,
    );
    const wrong: Record<string, readonly [keyFile: string | undefined, said: RegExp]> = {
      'none is known': [
        undefined,
        /accept the key SHA256:\S{43}, which is not on this computer\n.*JOBCTL_SSH_JOB_KEY_SECRET/,
      ],
      'another pair': [OTHER.privateKeyFile, /is SHA256:.*, and the hosts of a accept SHA256:/],
      'the public half': [KEY.publicKeyFile, /is a public key\n {2}wanted: the private key of a pair/],
      'not there': ['/nowhere/key', /\/nowhere\/key: this private key cannot be read: it does not exist/],
    };
    for (const [name, [keyFile, said]] of Object.entries(wrong)) {
      const asked = keyFile === undefined ? route : { ...route, identity: keyFile };
      await assert.rejects(keyFor(asked), (error: Error) => {
        assert.ok(error instanceof CliError, name);
        assert.match(error.message, said, name);
        assert.doesNotMatch(error.message, /PRIVATE KEY-----/, name);
        return true;
      });
    }
    chmodSync(KEY.privateKeyFile, 0o644);
    await assert.rejects(
      keyFor({ ...route, identity: KEY.privateKeyFile }),
      /others can reach this private key \(mode 644\)\n {2}chmod 600/,
    );
  });

  it("are logged in to with the job's own key where its secret is, and not with another job's", async () => {
    const file = join(FOLDER, 'job-key-secret');
    writeFileSync(file, newKeyLine(new Date(0), 'k'), { mode: 0o600 });
    const references = { current: pathToFileURL(file).href };
    const job = { id: 'a', run: 'r' };
    const { privateKey, publicKey } = (await openJobKeys(references)).newest(job) ?? assert.fail('no key');
    const keyOf = (view: Partial<JobView>) =>
      loginKey(
        { job: 'a', view: { spec: {}, ...view } as JobView, login: { user: 'me', publicKey }, hosts: [] },
        {
          route: { port: 22, address: 'external', jobKeys: references },
          context: { temporal: {} },
          isUnderOsLogin: false,
        },
      );
    assert.deepEqual(await keyOf(job), { text: privateKey });
    for (const other of [{ id: 'b', run: 'r' }, { id: 'a', run: 's' }, { id: 'a' }])
      await assert.rejects(
        keyOf(other),
        /accept the key SHA256:\S{43}, which is not on this computer \(none is made from k\)/,
      );
  });

  it('are known to OpenSSH by node id and index, since addresses are recycled', async () => {
    const { hosts } = await hostsOfJob(clientOf({ slices: [slice(1, 'ready')] }), 'a');
    const record = { publicKey: 'ssh-ed25519 AAAA', source: 'first-use', at: 0 } as const;
    assert.equal(
      knownHostsText(new Map(hosts.filter(isVm).map((host) => [host, record]))),
      'jobctl-771-0 ssh-ed25519 AAAA\njobctl-771-1 ssh-ed25519 AAAA\n',
    );
  });
});

describe('command lines of the host verbs that are refused', () => {
  const cases: Record<string, readonly [args: readonly string[], text: RegExp]> = {
    'exec without a command': [['exec', 'a'], /^jobctl exec a: no command after --/],
    'a host that is none': [['exec', 'a', '--host', 'x', '--', 'true'], /A number of a host from 0|a number of a host/],
    'stacks of a host that is none': [['stacks', 'a', '--host', '3-1'], /a number of a host from 0/i],
    'stacks of an attempt that is none': [['stacks', 'a', '--attempt', '0'], /whole number from 1/],
    'stacks of two jobs': [['stacks', 'a', 'b'], /expected 1 argument but got 2/],
    'ssh to several hosts': [['ssh', 'a', '--host', '0,1'], /whole number from 0/],
    'a port that is none': [['port-forward', 'a', '0'], /port from 1 to 65535/],
    'cp with one place': [['cp', 'a'], /missing required argument 'more'/],
    'words after -- elsewhere': [['cp', 'a', 'b:c', '--', 'x'], /takes no words after --/],
    'a secret as a word': [['secret', 'put', 'a', 'hunter2'], /too many arguments/],
    'a secret of no name': [['secret', 'put', '../a'], /'\.\.\/a' is not a secret's name/],
  };
  for (const [name, [args, said]] of Object.entries(cases)) {
    it(name, async () => {
      const { exitCode, text } = await refusalOf(args);
      assert.equal(exitCode, 2, text);
      assert.match(text, said);
      assert.doesNotMatch(text, /hunter2/);
    });
  }
});
