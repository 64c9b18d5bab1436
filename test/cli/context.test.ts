import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refuseStranger, resolveContext } from '../../cli/place/context.js';
import { withClient, withTemporal } from '../../cli/place/connect.js';
import { ExitCode } from '../../cli/terminal/cli-error.js';

describe('where a command line talks to if nothing names a server', () => {
  let folder: string;
  const stack = { temporal: { address: '127.0.0.1:1', namespace: 'default', uiUrl: null }, store: {}, cloud: {} };

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'jobctl-context-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const contextWith = (env: Record<string, string>, flags = {}) => resolveContext(flags, { HOME: folder, ...env });
  const isRefused = (env: Record<string, string>, flags = {}): boolean =>
    contextWith(env, flags).missingStack !== undefined;

  it("a state folder that was named and has no stack is an error, not Temporal's default address", async () => {
    const context = contextWith({ JOBCTL_HOME: folder });
    assert.equal(context.missingStack, folder);
    const refusal = {
      exitCode: ExitCode.Unavailable,
      message: new RegExp(`^there is no local stack in ${folder}`),
    };
    assert.throws(() => refuseStranger(context), refusal);
    const mustNotConnect = async () => assert.fail('it connected');
    await assert.rejects(withClient(context, mustNotConnect), refusal);
    await assert.rejects(withTemporal(context, mustNotConnect), refusal);
  });

  it('so is a stack that was begun and whose context is lost, also in the folder that nobody named', () => {
    const own = { XDG_STATE_HOME: folder };
    assert.equal(isRefused(own), false, 'nobody began one');
    mkdirSync(join(folder, 'jobctl'));
    writeFileSync(join(folder, 'jobctl', 'stack.json'), '{}');
    assert.equal(contextWith(own).missingStack, join(folder, 'jobctl'));
  });

  it('who names a server, or has a stack, is not refused', () => {
    const home = { JOBCTL_HOME: folder };
    assert.equal(isRefused(home, { temporalAddress: '127.0.0.1:2' }), false);
    const file = join(folder, 'temporal.toml');
    writeFileSync(file, '');
    for (const named of [{ TEMPORAL_ADDRESS: 'x:1' }, { TEMPORAL_PROFILE: 'x' }, { TEMPORAL_CONFIG_FILE: file }])
      assert.equal(isRefused({ ...home, ...named }), false, JSON.stringify(named));
    assert.equal(isRefused({ ...home, TEMPORAL_NAMESPACE: 'x' }), true, 'a namespace names no server');
    writeFileSync(join(folder, 'context.json'), JSON.stringify(stack));
    assert.equal(isRefused(home), false);
    assert.equal(contextWith(home).temporal.address, '127.0.0.1:1');
  });

  it('a stack whose server asks who calls brings its login along, which goes nowhere else', () => {
    const key = join(folder, 'api-key');
    const login = { tlsCaFile: '/ca.pem', tlsServerName: 'localhost', apiKeyFile: key };
    writeFileSync(
      join(folder, 'context.json'),
      JSON.stringify({ ...stack, temporal: { ...stack.temporal, ...login } }),
    );
    const home = { JOBCTL_HOME: folder };
    const mine = contextWith({ ...home, TEMPORAL_API_KEY: 'of another server' });
    const { tls_ca_file: ca, tls_server_name: name, api_key: reference } = mine.login ?? {};
    assert.deepEqual([ca, name, reference], ['/ca.pem', 'localhost', pathToFileURL(key).href]);
    assert.equal(mine.temporal.ownSettings, 'none', 'the key of another server is not sent to it');
    for (const other of [
      contextWith({ ...home, TEMPORAL_ADDRESS: 'x:1' }),
      contextWith(home, { temporalAddress: 'x:1' }),
    ])
      assert.equal(other.login, undefined);
  });

  it('without any of these, verbs say that no server is named, and connect to none', async () => {
    const context = contextWith({});
    assert.deepEqual(
      [context.missingStack, context.temporal.address, context.place],
      [undefined, undefined, undefined],
    );
    const refusal = {
      exitCode: ExitCode.Usage,
      message: /^no server is named: .*\n {2}a team's server: jobctl context set NAME/,
    };
    await assert.rejects(
      withClient(context, async () => assert.fail('it connected')),
      refusal,
    );
  });
});
