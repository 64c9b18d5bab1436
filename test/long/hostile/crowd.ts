// A program: hostile members of a project, each in a loop of drawn attacks on one server. Its standard input is a `CrowdOrder`;
// it ends at SIGTERM, and prints how often each attack was made and what answered.
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

export interface CrowdOrder {
  readonly url: string;
  /** One for each member. */
  readonly tokens: readonly string[];
  /** Jobs of others. */
  readonly victims: readonly string[];
  readonly seed: number;
}

/** What one member has. */
interface Member {
  readonly index: number;
  readonly token: string;
  readonly victims: readonly string[];
  readonly draw: (below: number) => number;
  readonly call: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<string>;
  readonly open: (head: string) => Promise<Socket>;
}

const CALL_MS = 20_000;
/** All that their project may have: one of their jobs runs, the others wait, so that what they cost is the service's and no VM's. */
const TPU = {
  accelerator: 'v5litepod-32',
  zone: 'us-central1-a',
  allocation_mode: 'queued-resources',
  pricing: 'spot',
};
const job = (more: object): object => ({
  name: 'trap',
  project: 'speech',
  tpu: TPU,
  command: { run: 'echo hi' },
  ...more,
});
const fill = (length: number, letter = 'y'): string => letter.repeat(length);
const quotaOf = (projects: number, nameLength: number): string =>
  [
    '[toml-schema]\nversion = "1"\n[[total_resources]]\nv5litepod = 64',
    ...Array.from({ length: projects }, (_, n) => `[project_resources.p${n}${fill(nameLength)}]\nv5litepod = 0.0001`),
  ].join('\n');
const plan = (file: string): object => ({ quotaFile: { name: 'q.toml', text: file } });
const nested = (depth: number): string => `${'{"job":'.repeat(depth)}{}${'}'.repeat(depth)}`;

/** Each: what a logged-in member may send. Sizes are drawn, so that what lies just below a bound is tried too. */
export const ATTACKS: Readonly<Record<string, (member: Member) => Promise<string>>> = {
  'a glob that backtracks': ({ call, draw }) =>
    call('GET', `/v1/jobs?name=${encodeURIComponent(`${'*'.repeat(1 + draw(90))}~`)}`),
  'a glob of question marks': ({ call, draw }) =>
    call('GET', `/v1/jobs?name=${encodeURIComponent('?*'.repeat(1 + draw(45)))}`),
  'many ids': ({ call }) => call('GET', `/v1/jobs?ids=${Array.from({ length: 200 }, (_, n) => `job-${n}`).join(',')}`),
  'a quota plan of many projects': ({ call, draw }) =>
    call('POST', '/v1/pools/default/quota/plan', plan(quotaOf(1 + draw(8_000), 20))),
  'a quota plan of members': ({ call, draw }) =>
    call(
      'POST',
      '/v1/pools/default/quota/plan',
      plan(
        `${quotaOf(2, 3)}\n[project_membership]\np0yyy = [${Array.from({ length: draw(12_000) }, (_, n) => `"a${n}(b|c)*d"`)}]`,
      ),
    ),
  'a wrong key': ({ call, draw }) => call('POST', '/v1/jobs', { job: job({ [fill(1 + draw(3_900_000))]: 1 }) }),
  'many wrong keys': ({ call, draw }) =>
    call('POST', '/v1/jobs', {
      job: job(Object.fromEntries(Array.from({ length: draw(200_000) }, (_, n) => [`k${n}`, n]))),
    }),
  'a long accelerator': ({ call, draw }) =>
    call('POST', '/v1/jobs', { job: job({ tpu: { ...TPU, accelerator: fill(draw(1_000_000)) } }) }),
  'references that refer to each other': ({ call, draw }) =>
    call('POST', '/v1/jobs', {
      job: job({
        env: Object.fromEntries(
          Array.from({ length: draw(2_000) }, (_, n) => [`E${n}`, `\${env.E${n + 1}}\${env.E${n + 1}}`]),
        ),
      }),
    }),
  'a deep body': ({ open, draw, token }) => {
    const body = nested(draw(200_000));
    return answered(open(head('POST', '/v1/jobs', token, `content-length: ${body.length}\r\n`) + body));
  },
  'a source of megabytes': ({ call, draw }) =>
    call('POST', '/v1/jobs', { job: job({}), source: fill(draw(3_000_000)) }),
  'an edit of an own job': async ({ call, draw, index }) =>
    call('POST', `/v1/jobs/trap-${index}/restart`, { set: [{ path: [fill(draw(1_900_000))], value: 1 }] }),
  'a thousand edits at once': async ({ call, index, draw }) =>
    call('POST', `/v1/jobs/trap-${index}/restart`, {
      set: Array.from({ length: 1_000 }, (_, n) => ({ path: ['env', `K${n}`], value: fill(draw(1_000)) })),
    }),
  "an edit of somebody else's": ({ call, draw, victims }) =>
    call('POST', `/v1/jobs/${victims[draw(victims.length)]}/restart`, { set: [{ path: ['priority'], value: 1 }] }),
  'an upload that stops': ({ open, token, draw }) => {
    const sha = fill(64, 'a');
    const first = Buffer.alloc(draw(2_000_000));
    const start = head(
      'PUT',
      `/v1/uploads/content?path=x&sha256=${sha}`,
      token,
      'content-type: application/octet-stream\r\ncontent-length: 60000000\r\n',
    );
    return open(start).then(async (socket) => {
      socket.write(first);
      await pause(2_000 + draw(20_000));
      socket.destroy();
      return 'left';
    });
  },
  'an upload of another content': ({ call, draw }) =>
    call('PUT', `/v1/uploads/content?path=x&sha256=${fill(64, 'b')}`, Buffer.alloc(draw(8_000_000)), {
      'content-type': 'application/octet-stream',
    }),
  'a plan of uploads': ({ call }) =>
    call('POST', '/v1/uploads', {
      files: Array.from({ length: 1_000 }, (_, n) => ({
        path: `f${n}`,
        sha256: n.toString(16).padStart(64, '0'),
        size: 10_000_000,
      })),
    }),
  'a half open connection': ({ open, draw }) =>
    open('POST /v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ').then(async (socket) => {
      for (let left = 5; left > 0 && !socket.destroyed; left -= 1) {
        socket.write('a');
        await pause(draw(3_000));
      }
      socket.destroy();
      return 'left';
    }),
  'a follower that does not read': ({ open, token, draw, victims }) =>
    open(head('GET', `/v1/jobs/${victims[draw(victims.length)]}/logs?follow=true`, token)).then(async (socket) => {
      socket.pause();
      await pause(5_000 + draw(10_000));
      socket.destroy();
      return 'left';
    }),
  'a place of ten thousand hosts': ({ call, draw, index }) =>
    call('GET', `/v1/jobs/trap-${index}/logs?follow=true`, undefined, {
      'last-event-id': `1;${Array.from({ length: draw(9_000) }, (_, n) => `${n}:1`).join(',')}`,
    }),
  'ready and metrics, again and again': async ({ call }) => {
    for (let left = 20; left > 0; left -= 1) await call('GET', left % 2 === 0 ? '/readyz' : '/metrics');
    return 'made';
  },
  'a guessed key of idempotency': ({ call, draw }) =>
    call('POST', '/v1/jobs', { job: job({}) }, { 'idempotency-key': `nightly-${draw(5)}` }),
  "somebody else's log": ({ call, draw, victims }) => call('GET', `/v1/jobs/${victims[draw(victims.length)]}/logs`),
};

const head = (method: string, path: string, token: string, more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n${more}\r\n`;

async function answered(opening: Promise<Socket>): Promise<string> {
  const socket = await opening;
  return new Promise((resolve) => {
    socket.once('data', (data) => {
      socket.destroy();
      resolve(/^HTTP\/1\.1 (\d+)/.exec(data.toString('latin1'))?.[1] ?? 'nonsense');
    });
    socket.once('error', () => resolve('reset'));
    socket.once('close', () => resolve('closed'));
    setTimeout(() => resolve(socket.destroy() && 'no answer'), CALL_MS).unref();
  });
}

/** A linear congruential generator: the same seed draws the same attacks. */
function drawer(seed: number): Member['draw'] {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return below <= 0 ? 0 : Math.floor((state / 2 ** 32) * below);
  };
}

function memberOf({ url, seed, victims }: CrowdOrder, token: string, index: number): Member {
  const { hostname, port } = new URL(url);
  return {
    index,
    token,
    victims,
    draw: drawer(seed * 1_000 + index),
    call: async (method, path, body, headers = {}) => {
      const isRaw = Buffer.isBuffer(body);
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isRaw ? new Uint8Array(body) : JSON.stringify(body) }),
        signal: AbortSignal.timeout(CALL_MS),
      });
      await answer.body?.cancel();
      return String(answer.status);
    },
    open: (first) =>
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write(first);
          resolve(socket);
        });
        socket.once('error', reject);
        socket.on('error', () => undefined);
      }),
  };
}

async function attack(order: CrowdOrder): Promise<void> {
  const counts: Record<string, Record<string, number>> = {};
  let isOver = false;
  process.once('SIGTERM', () => {
    isOver = true;
    process.stdout.write(JSON.stringify(counts), () => process.exit(0));
  });
  const names = Object.keys(ATTACKS);
  const loop = async (token: string, index: number): Promise<void> => {
    const member = memberOf(order, token, index);
    await member
      .call('POST', '/v1/jobs', { job: job({ command: { run: 'sleep 3000' } }), name: `trap-${index}` })
      .catch(() => '');
    while (!isOver) {
      const name = names[member.draw(names.length)] ?? '';
      const came = await (ATTACKS[name] as (member: Member) => Promise<string>)(member).catch((error: unknown) =>
        error instanceof Error && error.name === 'TimeoutError' ? 'no answer' : 'broken off',
      );
      const of = (counts[name] ??= {});
      of[came] = (of[came] ?? 0) + 1;
      await pause(member.draw(1_000));
    }
  };
  await Promise.all(order.tokens.map(loop));
}

if (process.argv[1]?.endsWith('crowd.ts') === true) await attack(JSON.parse(await text(process.stdin)) as CrowdOrder);
