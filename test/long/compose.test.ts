import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { dockerCompose, GO_BUILD_MS, TEMPORAL_SERVER_VERSION } from './built-by-go.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VARIABLES = { POSTGRES_PASSWORD: 'not-a-secret' };
const PROFILES = ['gcp', 'rehearsal'] as const;

/** What compose itself makes of the file, as far as it is looked at here. */
interface Composed {
  readonly services: Readonly<Record<string, Service>>;
}

interface Service {
  readonly image?: string;
  readonly build?: { readonly target?: string };
  readonly ports?: readonly { readonly host_ip?: string; readonly published?: string }[];
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly restart?: string;
  readonly user?: string;
  readonly privileged?: boolean;
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

  it('is refused without a password, and the message says what to do', async () => {
    await assert.rejects(run(['config', '-q'], {}), /POSTGRES_PASSWORD.*set it in \.env before the first start/);
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
    assert.deepEqual([...once].sort(), ['schema', 'setup', 'setup-rehearsal']);
    for (const [name, service] of services) {
      if (once.has(name)) assert.match(service.restart ?? '', /^on-failure/, name);
      else assert.ok(hasHealthCheck(service), `${name} has no health check`);
    }
  });

  it('starts the worker after the server is set up, the server after its schema, the schema after the database', async () => {
    const services = new Map(await everyService());
    const needs = (name: string): object =>
      Object.fromEntries(
        Object.entries(services.get(name)?.depends_on ?? {}).map(([other, { condition }]) => [other, condition]),
      );
    assert.deepEqual(needs('worker'), { setup: 'service_completed_successfully' });
    assert.deepEqual(needs('setup'), { temporal: 'service_healthy' });
    assert.deepEqual(needs('temporal'), { schema: 'service_completed_successfully' });
    assert.deepEqual(needs('schema'), { postgres: 'service_healthy' });
  });

  it('holds no secret, and nothing is privileged or root', async () => {
    const text = readFileSync(`${ROOT}docker-compose.yml`, 'utf8');
    assert.doesNotMatch(text, /(PASSWORD|KEYS?|TOKEN): (?!(&password )?\$\{|\*password|\/run\/secrets)\S/);
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

  async function run(args: readonly string[], variables: NodeJS.ProcessEnv): Promise<string> {
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], ...variables };
    // An .env beside the file is a user's own: this is about the file.
    const all = ['--env-file', '/dev/null', '-f', 'docker-compose.yml', ...args];
    const { stdout } = await promisify(execFile)(compose, all, { cwd: ROOT, env });
    return stdout;
  }

  async function everyService(): Promise<readonly (readonly [string, Service])[]> {
    const profiles = PROFILES.flatMap((profile) => ['--profile', profile]);
    const { services } = JSON.parse(await run([...profiles, 'config', '--format', 'json'], VARIABLES)) as Composed;
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
