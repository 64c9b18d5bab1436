import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FORMS } from '../../contract/api/forms.js';

/** The built page, and answers to its calls that are made up. Each is checked against its form. No Temporal, no store. */
export interface FakeServer {
  readonly url: string;
  /** Jobs of the board's next answers, all in one answer: a real server gives 1,000 at most. */
  jobs: number;
  /** Lines a second of logs that are followed from now on. */
  linesPerSecond: number;
  /** Lines that the last follower was sent. */
  sentLines: number;
  close(): void;
}

const PAGE = fileURLToPath(new URL('../../dist/ui/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };
const HOUR_MS = 3_600_000;
const BEAT_MS = 50;
const REASONS = [
  'waits for 16 chips of v5litepod in project vision; the end of train-0001 (16) would do',
  'attempt 2 on 4 hosts in us-central1-a',
  'asks for slices in us-east5-a since 2026-11-30T08:12:00Z',
];

export async function startFakeServer(): Promise<FakeServer> {
  let boards = 0;
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake: FakeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ jobs: 1_000, linesPerSecond: 0, sentLines: 0 },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  const json: Readonly<Record<string, () => object | undefined>> = {
    '/v1/whoami': () => FORMS.whoSchema.parse(WHO),
    '/v1/board': () => FORMS.boardSchema.parse(boardOf(fake.jobs, ++boards)),
    '/v1/groups': () => FORMS.groupPageSchema.parse({ rows: [] }),
    '/v1/access/explain': () => FORMS.explainedSchema.parse({ rows: [] }),
    '/v1/jobs/train-00000': () => FORMS.jobRowSchema.parse(rowOf(0, 0)),
    '/v1/jobs/train-00000/description': () =>
      FORMS.jobViewSchema.parse({ ...VIEW, submittedAt: Date.now() - HOUR_MS, phaseSince: Date.now() - HOUR_MS }),
  };
  function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(url, 'http://x');
    if (pathname.startsWith('/ui/')) servePage(pathname.slice('/ui/'.length), response);
    else if (pathname.endsWith('/logs')) sendLog(fake, response);
    else {
      const found = json[pathname]?.();
      const problem = { status: 404, code: 'not-found', detail: 'not here', requestId: 'r' };
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? problem));
    }
  }
  return fake;
}

function servePage(name: string, response: ServerResponse): void {
  const type = TYPES[name.split('.').at(-1) ?? ''];
  response.writeHead(200, { 'content-type': type ?? 'text/html; charset=utf-8' });
  response.end(readFileSync(join(PAGE, type === undefined ? 'index.html' : name)));
}

const WHO = { kind: 'user', id: 'ann', groups: [], issuer: 'bench', expiresAt: Date.now() + 24 * HOUR_MS };
const VIEW = {
  ...{ id: 'train-00000', phase: 'running', attempt: 1, slices: [], events: [], preemptions: 0 },
  spec: { priority: 3 },
};

/** @param look each answer differs in every row, as a board in a busy hour does */
function rowOf(index: number, look: number): object {
  const isQueued = index % 3 === 2;
  const now = Date.now();
  return {
    ...{ id: `train-${String(index).padStart(5, '0')}`, user: `user${index % 40}`, project: 'vision', pool: 'default' },
    ...{ slice: 'v5litepod-16', chips: 16, phase: isQueued ? 'queued' : 'running', attempts: 1 + (index % 2) },
    ...{ phaseSince: now - HOUR_MS, submittedAt: now - HOUR_MS, why: `${REASONS[index % 3]} (${look})` },
  };
}

function boardOf(jobs: number, look: number): object {
  const rows = Array.from({ length: jobs }, (_, index) => rowOf(index, look));
  return { rows, total: jobs, open: jobs, phases: [{ phase: 'running', jobs, chips: 16 * jobs }] };
}

/** Sends stretches of one host at the rate that is asked for, until the reader is gone. */
function sendLog(fake: FakeServer, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let [offset, due] = [0, 0];
  fake.sentLines = 0;
  const timer = setInterval(() => {
    due += (fake.linesPerSecond * BEAT_MS) / 1_000;
    const from = fake.sentLines;
    fake.sentLines = Math.max(from, Math.floor(due));
    const lines = Array.from({ length: fake.sentLines - from }, (_, at) => lineOf(from + at));
    const bytes = Buffer.from(lines.join(''));
    if (bytes.length === 0) return;
    const stretch = { attempt: 1, host: 0, offset, storedAt: Date.now(), bytes: bytes.toString('base64') };
    offset += bytes.length;
    response.write(
      `event: stretch\nid: 1;0:${offset}\ndata: ${JSON.stringify(FORMS.logStretchSchema.parse(stretch))}\n\n`,
    );
  }, BEAT_MS);
  response.on('close', () => clearInterval(timer));
}

const lineOf = (number: number): string =>
  `line ${number} step ${number} loss=0.${number % 10_000} \u001b[32mok\u001b[0m of a training that prints this much\n`;
