import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Advisory {
  readonly id: number;
  readonly severity: string;
  readonly title: string;
  readonly url: string;
  readonly vulnerable_versions: string;
}

/** By npm itself, against a registry on loopback: scripts/audit.ts. */
describe('F16: the audit of what the packages install', function () {
  this.timeout(60_000);
  // npm keeps what it has made of an advisory.
  const cache = mkdtempSync(join(tmpdir(), 'audit-test-'));
  let server: Server;
  let advisories: Readonly<Record<string, readonly Advisory[]>> | undefined;
  let asked: Readonly<Record<string, readonly string[]>> = {};

  before(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const isAudit = request.url === '/-/npm/v1/security/advisories/bulk';
        if (!isAudit || advisories === undefined) return response.writeHead(isAudit ? 405 : 404).end();
        asked = JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()) as typeof asked;
        return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(advisories));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.close();
    rmSync(cache, { recursive: true });
  });

  const advisory = (severity: string): Advisory => ({
    id: 1,
    severity,
    title: 'made up',
    url: 'https://example.invalid/1',
    vulnerable_versions: '*',
  });

  function audit(): Promise<{ readonly code: number; readonly output: string }> {
    const { port } = server.address() as AddressInfo;
    const npm = { registry: `http://127.0.0.1:${port}/`, fetch_retries: '0', cache: mkdtempSync(join(cache, 'npm-')) };
    const settings = Object.entries(npm).map(([name, value]) => [`npm_config_${name}`, value]);
    const env = { ...process.env, ...(Object.fromEntries(settings) as object) };
    return new Promise((resolve) => {
      execFile(process.execPath, ['--import', 'tsx', 'scripts/audit.ts'], { cwd: ROOT, env }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), output: `${out}${err}` }),
      );
    });
  }

  it('asks about every package, and passes if the registry knows nothing', async () => {
    advisories = {};
    const { code, output } = await audit();
    assert.equal(code, 0, output);
    assert.match(output, /audit: \d{3} dependencies, 0 high or critical, 0 lower/u);
    const names = Object.keys(asked);
    for (const name of ['@temporalio/client', '@kubernetes/client-node', 'fastify'])
      assert.ok(names.includes(name), name);
    assert.ok(names.length > 300, `${names.length}`);
    assert.ok(!names.includes('mocha'), 'what is for development is not installed with a package');
  });

  for (const severity of ['high', 'critical'])
    it(`fails on one that is ${severity}, by name`, async () => {
      advisories = { re2js: [advisory(severity)] };
      const { code, output } = await audit();
      assert.equal(code, 1, output);
      assert.match(output, new RegExp(`audit: ${severity}: re2js: made up, https`, 'u'));
    });

  it('shows a lower one, and passes', async () => {
    advisories = { re2js: [advisory('moderate')] };
    const { code, output } = await audit();
    assert.equal(code, 0, output);
    assert.match(output, /audit: moderate: re2js: made up/u);
    assert.match(output, /0 high or critical, [1-9]\d* lower/u);
  });

  it('says that a registry answers no audits, and claims nothing', async () => {
    advisories = undefined;
    const { code, output } = await audit();
    assert.equal(code, 0, output);
    assert.match(output, /audit: not done, the registry answers no audits: 405/u);
    assert.doesNotMatch(output, /0 high/u);
  });
});
