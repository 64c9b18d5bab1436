import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Verb } from '../../cli/commands/define-verb.js';
import { VERBS } from '../../cli/commands/verbs.js';
import { type ContextFlags, resolveContext } from '../../cli/place/context.js';
import { jobctl } from './command-line.js';

const SERVER = 'https://jobctl.example.com';
const TEMPORAL = '127.0.0.1:1';

/** Verbs that take a context, by their words. */
function placed(verbs: readonly Verb[], above = ''): readonly (readonly [words: string, verb: Verb])[] {
  return verbs.flatMap((verb) => [
    ...(verb.place === undefined ? [] : [[`${above}${verb.name}`, verb] as const]),
    ...placed(verb.verbs ?? [], `${above}${verb.name} `),
  ]);
}

describe('a context of jobctl serve', function () {
  this.timeout(60_000);
  let home: string;
  beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'jobctl-server-context-'))));
  afterEach(() => rmSync(home, { recursive: true }));

  const write = (text: string): void => {
    const file = join(home, '.config/jobctl/contexts.toml');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  };
  const resolved = (flags: ContextFlags = {}, env: Readonly<Record<string, string>> = {}) => {
    const { server, temporal, bucket, store, place } = resolveContext(flags, { HOME: home, ...env });
    return {
      server: server?.url,
      temporal: temporal.address,
      bucket: bucket?.bucket,
      reads: store === undefined ? undefined : 'server' in store ? 'server' : store.bucket,
      place: place?.name ?? place?.address,
    };
  };
  const nothing = { server: undefined, temporal: undefined, bucket: undefined, reads: undefined };

  describe('places do not mix', () => {
    const both = `current = "team"\n[contexts.team]\nserver = "${SERVER}"\n[contexts.ops]\nserver = "${SERVER}"\naddress = "${TEMPORAL}"\nbucket = "b"\n[contexts.old]\naddress = "${TEMPORAL}"\nbucket = "b"\n`;
    const cases: readonly (readonly [string, ContextFlags, Record<string, string>, object])[] = [
      ['the current context', {}, {}, { ...nothing, server: SERVER, reads: 'server', place: 'team' }],
      [
        'one with Temporal beside it, for the verbs that need that',
        { context: 'ops' },
        {},
        { server: SERVER, temporal: TEMPORAL, bucket: 'b', reads: 'server', place: 'ops' },
      ],
      [
        'a Temporal address that is named wins over a server of a context, as a whole',
        { temporalAddress: '127.0.0.1:9' },
        {},
        { ...nothing, temporal: '127.0.0.1:9', place: '127.0.0.1:9' },
      ],
      [
        'TEMPORAL_ADDRESS does',
        {},
        { TEMPORAL_ADDRESS: TEMPORAL },
        { ...nothing, temporal: TEMPORAL, place: TEMPORAL },
      ],
      [
        'a server that is named wins over an address of the environment, which is nobody’s then',
        { server: 'https://other.example.com' },
        { TEMPORAL_ADDRESS: TEMPORAL },
        { ...nothing, server: 'https://other.example.com', reads: 'server', place: 'https://other.example.com' },
      ],
      [
        'and over a Temporal context',
        { server: SERVER },
        { JOBCTL_CONTEXT: 'old' },
        { ...nothing, server: SERVER, reads: 'server', place: SERVER },
      ],
      [
        'JOBCTL_SERVER wins over the current context',
        {},
        { JOBCTL_SERVER: 'http://127.0.0.1:7480' },
        { ...nothing, server: 'http://127.0.0.1:7480', reads: 'server', place: 'http://127.0.0.1:7480' },
      ],
      [
        '--context wins over JOBCTL_SERVER',
        { context: 'old' },
        { JOBCTL_SERVER: SERVER },
        { server: undefined, temporal: TEMPORAL, bucket: 'b', reads: 'b', place: 'old' },
      ],
      [
        'a Temporal address of a context that has a server too: Temporal is meant',
        { temporalAddress: TEMPORAL },
        { JOBCTL_CONTEXT: 'ops' },
        { server: undefined, temporal: TEMPORAL, bucket: 'b', reads: 'b', place: TEMPORAL },
      ],
    ];
    for (const [name, flags, env, wanted] of cases)
      it(name, () => {
        write(both);
        assert.deepEqual(resolved(flags, env), wanted);
      });
  });

  it('context set makes one with a server alone, and ls shows it', async () => {
    const made = await jobctl(['context', 'set', 'team', '--server', SERVER], { HOME: home });
    assert.deepEqual([made.exitCode, made.stderr], [0, '']);
    const { stdout } = await jobctl(['context', 'ls'], { HOME: home });
    assert.match(stdout, /^\* +team +https:\/\/jobctl\.example\.com$/m);
    const rest = await jobctl(['context', 'set', 'team', '--unset', 'server'], { HOME: home });
    assert.deepEqual([rest.exitCode, rest.stderr.split('\n')[0]], [2, 'context team: cannot be without a server']);
  });

  for (const [address, problem] of [
    ['http://jobctl.example.com', 'is http, and a login would pass the network in clear text'],
    ['jobctl.example.com', 'is not a URL'],
    ['https://u:p@jobctl.example.com', 'has a login in it'],
    ['https://jobctl.example.com/?x=1', 'has more than a host and a path'],
    ['http://127.0.0.1.example.com', 'is http, and'],
  ] as const)
    it(`${address} is refused: ${problem}`, async () => {
      for (const args of [
        ['list', '--server', address],
        ['context', 'set', 'x', '--server', address],
      ]) {
        const { exitCode, stderr } = await jobctl(args, { HOME: home });
        assert.equal(exitCode, 2);
        assert.ok(stderr.startsWith('--server: ') && stderr.includes(problem), stderr);
      }
    });

  describe('every verb that takes a context', () => {
    /** What they need to come as far as the server, beside an id for each argument that names a job or a machine. */
    const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
      'machines release': ['m', '--claim', 'c'],
      cancel: ['j', '--yes'],
      cp: ['j:x', '.'],
      sync: ['.', 'j:'],
      delete: ['j', '--yes'],
      exec: ['j', '--', 'true'],
      launch: ['--instance-type', 'v5litepod-1', '--zone', 'us-central1-a', '--image', 'r/i:1', '--', 'true'],
      'port-forward': ['j', '20321:80'],
      'quota apply': ['--yes', 'QUOTA'],
      'quota drain': ['--yes'],
      'quota release': ['j', '--because', 'x', '--pool', 'p'],
      'quota set-priority': ['j', '2'],
      retry: ['j', '--failed'],
      'schedule create': ['n', '--cron', '@daily', '--tpu', 'v5litepod-1', '--zone', 'us-central1-a', '--', 'true'],
      submit: ['--tpu', 'v5litepod-1', '--zone', 'us-central1-a', '--', 'true'],
      workspace: ['--tpu', 'v5litepod-1', '--zone', 'us-central1-a'],
    };
    const argumentsOf = (words: string, verb: Verb): readonly string[] =>
      ARGUMENTS[words] ?? (verb.arguments ?? []).map(() => 'j');

    const FORBIDDEN = { code: 'forbidden', detail: 'not this one', requestId: 'r', status: 403 };
    let server: Server;
    let calls: string[];
    let answer: object;
    before(async () => {
      server = createServer((request, response) => {
        calls.push(`${request.method} ${request.url}`);
        response.writeHead(answer === FORBIDDEN ? 403 : 200, { 'content-type': 'application/problem+json' });
        response.end(JSON.stringify(answer));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    after(() => server.close());
    beforeEach(() => {
      [calls, answer] = [[], FORBIDDEN];
    });

    it('audit log says from when on it was read, if not all of it was', async () => {
      const warning =
        /^not the whole log: lines before 2026-11-26T00:00:00\.000Z were not read, because there are too many$/m;
      for (const more of [{}, { readFrom: Date.UTC(2026, 10, 26) }]) {
        answer = { lines: [], ...more };
        const { exitCode, stderr } = await jobctl(['audit', 'log'], environment());
        assert.deepEqual([exitCode, warning.test(stderr)], [0, 'readFrom' in more], stderr);
      }
    });

    /** A context of the server, and a login by a variable. */
    function environment(): Record<string, string> {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      write(`current = "team"\n[contexts.team]\nserver = "${url}"\n`);
      const logins = join(home, '.local/state/jobctl-login/logins.json');
      mkdirSync(dirname(logins), { recursive: true, mode: 0o700 });
      const servers = { [url]: { kind: 'from', from: 'env:TOKEN' } };
      writeFileSync(logins, JSON.stringify({ v: 1, servers }), { mode: 0o600 });
      const claims = Buffer.from(JSON.stringify({ iss: 'x', aud: 'y', exp: 4_000_000_000 })).toString('base64url');
      return { HOME: home, TOKEN: `e30.${claims}.x` };
    }

    for (const [words, verb] of placed(VERBS)) {
      const { place } = verb;
      if (typeof place === 'object') {
        const [what, flag] = 'temporal' in place ? ['Temporal', '--temporal-address'] : ['the bucket', '--bucket'];
        it(`${words} says why it needs ${what} itself, and which context has it`, async () => {
          const { exitCode, stderr } = await jobctl([...words.split(' '), ...argumentsOf(words, verb)], environment());
          assert.equal(exitCode, 2, stderr);
          const [first = '', second = ''] = stderr.split('\n');
          assert.match(
            first,
            new RegExp(
              `^jobctl ${words}: needs ${what} itself, and context team \\(http\\S+\\) is a jobctl serve: it `,
            ),
          );
          assert.match(second, new RegExp(`${flag}, or use a context that has its (address|bucket)$`));
          assert.deepEqual(calls, []);
        });
      } else if (place === 'either')
        it(`${words} asks the server, and ends with what it answers`, async () => {
          const quota = join(home, 'quota.toml');
          writeFileSync(
            quota,
            `[toml-schema]\nversion = "1"\n[[total_resources]]\nv5litepod = 64\n[project_resources.a]\nv5litepod = 1.0\n[project_membership]\na = ["x"]\n`,
          );
          const args = argumentsOf(words, verb).map((word) => (word === 'QUOTA' ? quota : word));
          const { exitCode, stderr } = await jobctl([...words.split(' '), ...args], environment());
          assert.ok(calls.length > 0, `nothing was asked: ${stderr}`);
          assert.equal(exitCode, 4, stderr);
          assert.match(stderr, /not this one/);
        });
    }
  });
});
