import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dockerCompose, GO_BUILD_MS, TEMPORAL_SERVER_VERSION } from './built-by-go.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VARIABLES = { POSTGRES_PASSWORD: 'not-a-secret', POSTGRES_SERVER_PASSWORD: 'not-one-either' };
const PROFILES = ['gcp', 'rehearsal'] as const;

/** What compose itself makes of the file, as far as it is looked at here. */
interface Composed {
  readonly services: Readonly<Record<string, Service>>;
}

interface Service {
  readonly image?: string;
  readonly build?: { readonly target?: string; readonly args?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly host_ip?: string; readonly published?: string }[];
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly restart?: string;
  readonly user?: string;
  readonly volumes?: readonly { readonly source?: string; readonly read_only?: boolean }[];
  readonly privileged?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly read_only?: boolean;
  readonly security_opt?: readonly string[];
  readonly networks?: Readonly<Record<string, unknown>>;
  readonly environment?: Readonly<Record<string, string | null>>;
}

describe('docker-compose.yml, as compose itself reads it', function () {
  this.timeout(60_000);
  let compose: string;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    compose = await dockerCompose();
  });

  for (const profile of PROFILES) {
    it(`is accepted with profile ${profile}`, async () => {
      await run(['--profile', profile, 'config', '-q'], VARIABLES);
    });
  }

  for (const [name, remedy] of Object.entries({
    POSTGRES_PASSWORD: /POSTGRES_PASSWORD.*set it in \.env before the first start/,
    POSTGRES_SERVER_PASSWORD: /POSTGRES_SERVER_PASSWORD.*set it in \.env, such as by/,
  }))
    it(`is refused without ${name}, and the message says what to do`, async () => {
      await assert.rejects(run(['config', '-q'], { ...VARIABLES, [name]: undefined }), remedy);
    });

  it('pins every image by an exact tag, and the server is the one that our tests run natively', async () => {
    for (const [name, { image = '' }] of await everyService()) {
      assert.match(image, /^[\w./-]+:v?\d+\.\d+(\.\d+)?(-[\w.-]+)?$/, `image of ${name}`);
    }
    const images = new Map((await everyService()).map(([name, { image }]) => [name, image]));
    assert.equal(images.get('temporal'), `temporalio/server:${TEMPORAL_SERVER_VERSION}`);
    assert.ok(images.get('schema')?.startsWith(`temporalio/admin-tools:${TEMPORAL_SERVER_VERSION}-`));
    const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string };
    assert.equal(images.get('worker'), `jobctl:${version}`);
    assert.equal(images.get('rehearsal'), `jobctl-rehearsal:${version}`);
  });

  it('takes every image and the base of ours from a variable', async () => {
    const variables = {
      POSTGRES_IMAGE: 'a/postgres@sha256:1',
      TEMPORAL_ADMIN_TOOLS_IMAGE: 'a/tools@sha256:2',
      TEMPORAL_SERVER_IMAGE: 'a/server@sha256:3',
      TEMPORAL_UI_IMAGE: 'a/ui@sha256:4',
      JOBCTL_IMAGE: 'a/jobctl@sha256:5',
      JOBCTL_REHEARSAL_IMAGE: 'a/rehearsal@sha256:6',
      NODE_IMAGE: 'a/node@sha256:7',
    };
    const services = await everyService(variables);
    const images = services.flatMap(([, { image, build }]) => [image, ...Object.values(build?.args ?? {})]);
    assert.deepEqual(new Set(images), new Set(Object.values(variables)));
    const { NODE_IMAGE } = new Map(await everyService()).get('worker')?.build?.args ?? {};
    assert.match(readFileSync(`${ROOT}Dockerfile`, 'utf8'), new RegExp(`^ARG NODE_IMAGE=${NODE_IMAGE}$`, 'm'));
  });

  it('F14: gives no service a capability, a way to root, or a file system to write', async () => {
    for (const [name, service] of await everyService()) {
      assert.deepEqual([service.cap_drop, service.cap_add ?? []], [['ALL'], []], name);
      assert.deepEqual([service.read_only, service.security_opt], [true, ['no-new-privileges:true']], name);
    }
  });

  it('F14: lets the server and its schema alone into the network of the database, and the Web UI into no other’s', async () => {
    const members = (network: string, services: readonly (readonly [string, Service])[]): readonly string[] =>
      services.filter(([, { networks = {} }]) => network in networks).map(([name]) => name);
    const services = await everyService();
    assert.deepEqual(members('database', services).toSorted(), ['postgres', 'roles', 'schema', 'temporal']);
    assert.deepEqual(members('ui', services).toSorted(), ['temporal', 'ui']);
    assert.deepEqual(members('temporal', services).toSorted(), ['rehearsal', 'setup', 'temporal', 'worker']);
    assert.deepEqual(members('outside', services).toSorted(), ['rehearsal', 'setup', 'worker']);
    assert.deepEqual(members('default', services), []);
  });

  it('publishes ports on 127.0.0.1 alone', async () => {
    const ports = (await everyService()).flatMap(([, { ports = [] }]) => ports);
    assert.ok(ports.length >= 2, 'Temporal and its Web UI');
    for (const { host_ip: address, published } of ports) assert.equal(address, '127.0.0.1', `port ${published}`);
  });

  it('has a health check for every service that is not there once', async () => {
    const services = await everyService();
    const once = new Set(
      services.flatMap(([, { depends_on: needs = {} }]) =>
        Object.entries(needs).flatMap(([name, { condition }]) =>
          condition === 'service_completed_successfully' ? [name] : [],
        ),
      ),
    );
    assert.deepEqual([...once].sort(), ['roles', 'schema', 'setup', 'setup-rehearsal']);
    for (const [name, service] of services) {
      if (once.has(name)) assert.match(service.restart ?? '', /^on-failure/, name);
      else assert.ok(hasHealthCheck(service), `${name} has no health check`);
    }
  });

  it('starts the worker after the server is set up, the server after roles, schema and database', async () => {
    const services = new Map(await everyService());
    const needs = (name: string): object =>
      Object.fromEntries(
        Object.entries(services.get(name)?.depends_on ?? {}).map(([other, { condition }]) => [other, condition]),
      );
    assert.deepEqual(needs('worker'), { setup: 'service_completed_successfully' });
    assert.deepEqual(needs('setup'), { temporal: 'service_healthy' });
    assert.deepEqual(needs('temporal'), { roles: 'service_completed_successfully' });
    assert.deepEqual(needs('roles'), { schema: 'service_completed_successfully' });
    assert.deepEqual(needs('schema'), { postgres: 'service_healthy' });
  });

  it('holds no secret, and nothing is privileged or root', async () => {
    const text = readFileSync(`${ROOT}docker-compose.yml`, 'utf8');
    assert.doesNotMatch(text, /(PASSWORD|KEYS?|TOKEN|password): (?!(&[\w-]+ )?\$\{|\*[\w-]+|\/run\/secrets)\S/);
    for (const [name, { privileged, user }] of await everyService()) {
      assert.ok(privileged !== true && user !== 'root' && user !== '0', name);
    }
    for (const stage of ['jobctl', 'rehearsal']) {
      assert.equal(
        stageOf(stage)
          .match(/^USER .*$/gm)
          ?.at(-1),
        'USER node',
        `who a container of ${stage} is`,
      );
    }
  });

  describe('with docker-compose.verified.yml over it', () => {
    const VERIFIED = { COMPOSE_FILE: 'docker-compose.yml:docker-compose.verified.yml' };

    it('is accepted with each profile, and confined, pinned and checked in the same way', async () => {
      for (const profile of PROFILES) await run(['--profile', profile, 'config', '-q'], { ...VARIABLES, ...VERIFIED });
      const services = await everyService(VERIFIED);
      for (const [name, service] of services) {
        assert.deepEqual([service.cap_drop, service.read_only], [['ALL'], true], name);
        assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name);
        for (const { host_ip: address } of service.ports ?? []) assert.equal(address, '127.0.0.1', name);
      }
      const added = new Map(services);
      for (const name of ['keys', 'server', 'server-rehearsal'])
        assert.ok((added.get(name)?.healthcheck?.test?.length ?? 0) > 1, name);
    });

    it('starts Temporal after its key set, which Temporal alone can reach, and gives each process its own API key', async () => {
      const services = new Map(await everyService(VERIFIED));
      const temporal = services.get('temporal');
      assert.equal(temporal?.environment?.['TEMPORAL_KEY_SET_URI'], 'http://keys:7481/key-set.json');
      assert.equal(temporal?.depends_on?.['keys']?.condition, 'service_healthy');
      const inKeys = [...services].filter(([, { networks = {} }]) => 'keys' in networks).map(([name]) => name);
      assert.deepEqual(inKeys.toSorted(), ['keys', 'temporal']);
      const folders = [...services].flatMap(([name, { volumes = [] }]) =>
        volumes.flatMap(({ source = '', read_only: isReadOnly }) => {
          const [, folder] = /\/api-keys\/(\w+)$/.exec(source) ?? [];
          return folder === undefined ? [] : [`${name}: ${folder}${isReadOnly === true ? '' : ', written'}`];
        }),
      );
      assert.deepEqual(folders.toSorted(), [
        'keys: public',
        'server-rehearsal: server',
        'server: server',
        'setup-rehearsal: admin',
        'setup: admin',
        'worker-rehearsal: worker',
        'worker: worker',
      ]);
    });
  });

  async function run(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables };
    // An .env beside the file is a user's own: this is about the file.
    const files = variables['COMPOSE_FILE'] === undefined ? ['-f', 'docker-compose.yml'] : [];
    const all = ['--env-file', '/dev/null', ...files, ...args];
    const { stdout } = await promisify(execFile)(compose, all, { cwd: ROOT, env });
    return stdout;
  }

  async function everyService(more: NodeJS.ProcessEnv = {}): Promise<readonly (readonly [string, Service])[]> {
    const profiles = PROFILES.flatMap((profile) => ['--profile', profile]);
    const { services } = JSON.parse(
      await run([...profiles, 'config', '--format', 'json'], { ...VARIABLES, ...more }),
    ) as Composed;
    return Object.entries(services);
  }

  /** Of a service that is built here: its image's own, unless the service turns it off. */
  function hasHealthCheck({ healthcheck, build }: Service): boolean {
    if (healthcheck !== undefined) return healthcheck.disable !== true && (healthcheck.test?.length ?? 0) > 1;
    return build?.target !== undefined && /^HEALTHCHECK /m.test(stageOf(build.target));
  }

  function stageOf(target: string): string {
    const text = readFileSync(`${ROOT}Dockerfile`, 'utf8');
    const from = text.search(new RegExp(`^FROM .* AS ${target}$`, 'm'));
    assert.ok(from >= 0, `Dockerfile has a stage ${target}`);
    const next = text.indexOf('\nFROM ', from);
    return text.slice(from, next < 0 ? undefined : next);
  }
});
