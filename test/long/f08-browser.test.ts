import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import type { Rehearsal } from '../../rehearsal/index.js';
import { startRehearsal } from '../../rehearsal/index.js';
import { scratchFolder, SUBNET_OCTET } from '../../rehearsal/test/scratch.js';
import { makeCall, type RawCall } from '../security/raw-calls.js';
import { attacks, withToken } from '../security/rehearsal-attacks.js';
import { startBrowser } from './web-ui-page.js';

const EVIL = 'evil.example';
const PARENT = 'projects/p/locations/us-central1-a';
const NODE = JSON.stringify({ acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite' });

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly body: string;
  readonly type: string;
  readonly mode: 'cors' | 'no-cors';
}

/** F8 in a real browser of the rehearsal's own login, which takes the kernel's word: nothing but the browser's headers tells the page apart. */
describe('F8: a web page in a real browser', function () {
  this.timeout(120_000);
  const scratch = scratchFolder('f08-browser');
  let site: Server;
  let port: number;
  let browser: Browser;
  let page: Page;
  let rehearsal: Rehearsal;

  before(async () => {
    site = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<h1>evil</h1>'));
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    port = (site.address() as AddressInfo).port;
    // A name that its owner's DNS points at loopback.
    const rules = `--host-resolver-rules=MAP ${EVIL} 127.0.0.1`;
    browser = await startBrowser([rules]);
    page = await browser.newPage();
    await page.goto(`http://${EVIL}:${port}/`);
    // The page stays, its server gives the port up: what DNS rebinding comes to.
    const closed = new Promise((resolve) => site.close(resolve));
    site.closeAllConnections();
    await closed;
    const place = { stateDir: join(scratch.path, 'state'), subnetOctet: SUBNET_OCTET, sshPort: 2222 };
    rehearsal = await startRehearsal({ ...place, restPort: port, kubernetesPort: 0, callers: 'login' });
  });
  after(async () => {
    await browser?.close();
    await rehearsal?.stop();
    scratch.remove();
  });

  /** From the page: the status, `opaque` if the page may not look, or why it was not sent. */
  const fromPage = (sent: Sent): Promise<string> =>
    page.evaluate(async ({ url, method, body, type, mode }) => {
      const content = method === 'GET' ? {} : { body: type === '' ? new Blob([body]) : body };
      const headers: Record<string, string> = type === '' ? {} : { 'content-type': type };
      try {
        const response = await fetch(url, { method, mode, headers, ...content });
        return response.type === 'opaque' ? 'opaque' : String(response.status);
      } catch (error) {
        return String(error);
      }
    }, sent);
  const nothingWasMade = async (): Promise<void> => {
    const token = readFileSync(rehearsal.endpoints.tokenFile, 'utf8');
    const call: RawCall = { name: 'status', wire: 'http', url: `${rehearsal.endpoints.admin}/admin/status` };
    const { nodes, vms, holds } = JSON.parse((await makeCall(withToken(call, token))).text) as Record<string, unknown>;
    assert.deepEqual({ nodes, vms, holds }, { nodes: [], vms: [], holds: [] });
    const buckets: RawCall = {
      name: 'buckets',
      wire: 'http',
      url: `${rehearsal.endpoints.store}/storage/v1/b?project=p`,
    };
    assert.doesNotMatch((await makeCall(withToken(buckets, token))).text, /evil/);
  };

  it('is refused after DNS rebinding, where the browser takes the rehearsal for the page’s own server', async () => {
    const url = `http://${EVIL}:${port}/v2/${PARENT}/nodes`;
    const json = {
      url: `${url}?nodeId=evil`,
      method: 'POST',
      body: NODE,
      type: 'application/json',
      mode: 'cors',
    } as const;
    assert.equal(await fromPage(json), '403');
    assert.equal(await fromPage({ ...json, url, method: 'GET' }), '403');
    await nothingWasMade();
  });

  it('starts nothing by requests that a browser sends unasked, at any port', async () => {
    const posts = attacks(rehearsal.endpoints).filter(({ method, wire }) => method === 'POST' && wire !== 'grpc');
    assert.ok(posts.length > 5);
    for (const { url, body = '' } of posts) {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
        const text = Buffer.from(body, 'base64').toString();
        const seen = await fromPage({ url, method: 'POST', body: text, type, mode: 'no-cors' });
        assert.ok(seen === 'opaque' || /TypeError/.test(seen), `${url}: ${seen}`);
      }
    }
    await nothingWasMade();
  });

  it('starts nothing by a form, and reads nothing of another origin', async () => {
    const { rest, admin } = rehearsal.endpoints;
    const read = await fromPage({ url: `${admin}/admin/dump`, method: 'GET', body: '', type: '', mode: 'cors' });
    assert.match(read, /TypeError/);
    const answered = page.waitForResponse((response) => response.url().startsWith(rest), { timeout: 30_000 });
    await page.setContent(`<form method="post" enctype="text/plain" action="${rest}/v2/${PARENT}/nodes?nodeId=evil">
      <input name='{"acceleratorType": "v5litepod-8", "x": "' value='"}'><button>go</button></form>`);
    await page.click('button');
    assert.equal((await answered).status(), 403);
    await nothingWasMade();
  });

  it('is told apart from what its user types into the address bar', async () => {
    const own = await browser.newPage();
    const answer = await own.goto(`${rehearsal.endpoints.rest}/v2/${PARENT}/nodes`);
    assert.equal(answer?.status(), 200);
  });
});
