import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import {
  ForbiddenAddress,
  guardedPost,
  mayReach,
  type Resolve,
  deliveryOf,
  noticeSender,
  signatureOf,
  signingKey,
  slackBody,
} from '../../cloud/notices/sender.js';
import type { Destination, NoticeMessage } from '../../cloud/notices/port.js';

const KEY = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const LOOPBACK = { networks: ['127.0.0.0/8', '::1/128'] };
const MESSAGE: NoticeMessage = {
  id: 'run-1-17',
  type: 'job.preempted',
  timestamp: '2026-11-22T07:14:20.000Z',
  title: 'train-7f3k: preempted',
  lines: ['slice 0 was preempted by the provider: <gone> & back', 'job train-7f3k of alice'],
  data: { job: 'train-7f3k', event: { kind: 'preempted' } },
};

describe('the addresses that a webhook may lead to', () => {
  const table: Readonly<Record<string, boolean>> = {
    '93.184.216.34': true,
    '2606:2800:220:1:248:1893:25c8:1946': true,
    '127.0.0.1': false,
    '127.255.255.254': false,
    '0.0.0.0': false,
    '10.1.2.3': false,
    '172.16.0.1': false,
    '172.31.255.255': false,
    '172.32.0.1': true,
    '192.168.1.1': false,
    '169.254.169.254': false,
    '100.64.0.1': false,
    '192.0.0.192': false,
    '198.18.0.1': false,
    '224.0.0.1': false,
    '240.0.0.1': false,
    '255.255.255.255': false,
    '::': false,
    '::1': false,
    'fe80::1': false,
    'fc00::1': false,
    'fd00:ec2::254': false,
    'ff02::1': false,
    '::ffff:127.0.0.1': false,
    '::ffff:169.254.169.254': false,
    '::ffff:a9fe:a9fe': false,
    '::ffff:93.184.216.34': true,
    '64:ff9b::7f00:1': false,
    '64:ff9b::a9fe:a9fe': false,
    '2002:7f00:1::': false,
    '2001::1': false,
    '2001:db8::1': false,
    'not an address': false,
  };
  for (const [address, isAllowed] of Object.entries(table))
    it(`${address} is ${isAllowed ? 'public' : 'refused'}`, () => {
      assert.equal(mayReach(address, 'https:', { networks: [] }), isAllowed);
      assert.equal(mayReach(address, 'http:', { networks: [] }), false);
    });

  it('a network of the configuration is allowed too, and http on loopback in it alone', () => {
    const reach = { networks: ['10.0.0.0/8', '127.0.0.1/32'] };
    assert.deepEqual(
      ['10.1.2.3', '127.0.0.1', '127.0.0.2', '::ffff:10.1.2.3', '192.168.0.1'].map((each) =>
        mayReach(each, 'https:', reach),
      ),
      [true, true, false, true, false],
    );
    assert.deepEqual(
      ['10.1.2.3', '127.0.0.1'].map((each) => mayReach(each, 'http:', reach)),
      [false, true],
    );
  });
});

/** A receiver that answers as a test says, and keeps what it got. */
class Receiver {
  readonly got: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  answer: (response: ServerResponse) => void = (response) => void response.end('ok');
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.got.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') });
        this.answer(response);
      });
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

describe('a post to a URL that a user named', () => {
  let receiver: Receiver;
  beforeEach(async () => (receiver = await new Receiver().listen()));
  afterEach(() => receiver.close());

  const post = (host: string, reach: Parameters<typeof guardedPost>[3]) =>
    guardedPost(`http://${host}:${receiver.port}/hook`, '{}', {}, reach);

  const forms = [
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.1',
    'localhost',
    '[::1]',
    '[::ffff:7f00:1]',
    '0',
  ];
  for (const form of forms)
    it(`${form} is refused, and nobody is connected to`, async () => {
      await assert.rejects(post(form, { networks: [] }), ForbiddenAddress);
      await assert.rejects(
        guardedPost(`https://${form}:${receiver.port}/`, '{}', {}, { networks: [] }),
        ForbiddenAddress,
      );
      assert.deepEqual(receiver.got, []);
    });

  it('the address that was checked is the one that is connected to, whatever the name leads to later', async () => {
    let asked = 0;
    const resolve: Resolve = async () => {
      asked += 1;
      return [asked === 1 ? { address: '127.0.0.1', family: 4 } : { address: '169.254.169.254', family: 4 }];
    };
    const { status } = await post('rebinding.example', { ...LOOPBACK, resolve });
    assert.deepEqual([status, asked], [200, 1]);
    assert.equal(receiver.got[0]?.headers.host, `rebinding.example:${receiver.port}`);
    await assert.rejects(post('rebinding.example', { ...LOOPBACK, resolve }), /leads to 169\.254\.169\.254/);
  });

  it('of several addresses only those that are allowed are connected to', async () => {
    const resolve: Resolve = async () => [
      { address: '169.254.169.254', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    assert.equal((await post('two.example', { ...LOOPBACK, resolve })).status, 200);
  });

  it('a redirect is not followed', async () => {
    receiver.answer = (response) => void response.writeHead(307, { location: 'http://169.254.169.254/' }).end();
    const answer = await post('127.0.0.1', LOOPBACK);
    assert.deepEqual(deliveryOf(answer), { kind: 'never', why: 'it answered 307, and redirects are not followed' });
    assert.equal(receiver.got.length, 1);
  });

  it('of an answer that does not end only the beginning is read, and 200 visible characters are shown', async () => {
    receiver.answer = (response) => {
      const more = (): void => void (response.destroyed || response.write(`\u001b[31m${'x'.repeat(10_000)}`, more));
      more();
    };
    const { text } = await post('127.0.0.1', LOOPBACK);
    assert.ok(text.length < 220 && text.startsWith('\\u001b[31mxxx'), text);
  });
});

describe('an event that is sent', () => {
  let receiver: Receiver;
  beforeEach(async () => (receiver = await new Receiver().listen()));
  afterEach(() => receiver.close());
  const hook = (key = KEY): Destination => ({
    kind: 'webhook',
    url: `http://127.0.0.1:${receiver.port}/x?token=secret`,
    key,
  });
  const send = (to: Destination) => noticeSender(LOOPBACK, undefined).send(to, MESSAGE);

  it('has the signature of Standard Webhooks', () => {
    const key = signingKey(KEY) ?? assert.fail();
    // The vector of the specification's libraries.
    const signature = signatureOf(key, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}');
    assert.equal(signature, 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  it('reaches a webhook signed, with the same id each time', async () => {
    assert.deepEqual([await send(hook()), await send(hook())], [{ kind: 'sent' }, { kind: 'sent' }]);
    for (const { headers, body } of receiver.got) {
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = headers;
      assert.equal(id, MESSAGE.id);
      assert.equal(signature, signatureOf(signingKey(KEY) ?? assert.fail(), MESSAGE.id, Number(at), body));
      const { type, timestamp, data } = MESSAGE;
      assert.deepEqual(JSON.parse(body), { type, timestamp, data });
    }
  });

  const answers: readonly (readonly [number, string])[] = [
    ...[200, 202, 204].map((status) => [status, 'sent'] as const),
    ...[400, 401, 403, 404, 410, 422, 301].map((status) => [status, 'never'] as const),
    ...[408, 425, 429, 500, 502, 503].map((status) => [status, 'later'] as const),
  ];
  for (const [status, kind] of answers)
    it(`is ${kind} after ${status}`, async () => {
      receiver.answer = (response) => void response.writeHead(status).end();
      assert.equal((await send(hook())).kind, kind);
    });

  it('is tried again when Retry-After says, within an hour', () => {
    const after = (retryAfter: string) => deliveryOf({ status: 429, retryAfter, text: '' });
    assert.deepEqual(after('7'), { kind: 'later', why: 'it answered 429', afterMs: 7_000 });
    assert.deepEqual(after('86400'), { kind: 'later', why: 'it answered 429', afterMs: 3_600_000 });
    assert.deepEqual(after('soon'), { kind: 'later', why: 'it answered 429' });
  });

  it('is tried later if nobody listens or the connection is cut, and no reason has the URL', async () => {
    receiver.answer = (response) => void response.destroy();
    const cut = await send(hook());
    const gone = await new Receiver().listen();
    const { port } = gone;
    await gone.close();
    const refused = await send({ kind: 'webhook', url: `http://127.0.0.1:${port}/?token=secret`, key: KEY });
    for (const each of [cut, refused]) {
      assert.equal(each.kind, 'later');
      assert.doesNotMatch(JSON.stringify(each), /token|whsec/);
    }
  });

  it('is never sent to what the worker does not post to, or by a key that is none', async () => {
    const own = noticeSender({ networks: [] }, undefined);
    const refused = await own.send(hook(), MESSAGE);
    assert.deepEqual(refused, { kind: 'never', why: '127.0.0.1 is not posted to by plain http' });
    for (const key of ['secret', 'whsec_c2hvcnQ=', 'whsec_!']) assert.equal((await send(hook(key))).kind, 'never');
    assert.deepEqual(receiver.got, []);
  });

  it('reaches Slack as text and blocks, in which nothing is a mention', async () => {
    assert.deepEqual(await send({ kind: 'slack', url: `http://127.0.0.1:${receiver.port}/services/T/B/x\n` }), {
      kind: 'sent',
    });
    const body = JSON.parse(receiver.got[0]?.body ?? '') as {
      readonly text: string;
      readonly blocks: readonly object[];
    };
    assert.deepEqual(body, {
      text: 'train-7f3k: preempted',
      blocks: [
        {
          type: 'section',
          text: {
            type: 'mrkdwn',
            text: '*train-7f3k: preempted*\nslice 0 was preempted by the provider: &lt;gone&gt; &amp; back',
          },
        },
        { type: 'context', elements: [{ type: 'mrkdwn', text: 'job train-7f3k of alice' }] },
      ],
    });
    const long = slackBody({ title: '<'.repeat(9_000), lines: ['&'.repeat(9_000), '>'.repeat(9_000)] });
    const texts = JSON.stringify(long).match(/"text":"[^"]*"/g) ?? [];
    for (const text of texts) assert.ok(text.length < 6_000 && !/&(?!amp;|lt;|gt;)/.test(text));
  });
});

describe('a mail', () => {
  let server: SMTPServer;
  const mails: { readonly to: readonly string[]; readonly text: string }[] = [];
  let answer: (address: string) => Error | undefined;
  let port: number;
  before(async () => {
    server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      allowInsecureAuth: true,
      logger: false,
      onAuth: ({ username, password }, _session, done) =>
        password === 'p w' ? done(null, { user: username }) : done(new Error('Invalid login')),
      onRcptTo: ({ address }, _session, done) => done(answer(address)),
      onData: (stream, { envelope }, done) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          mails.push({
            to: envelope.rcptTo.map(({ address }) => address),
            text: Buffer.concat(chunks).toString('utf8'),
          });
          done();
        });
      },
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
    port = (server.server.address() as AddressInfo).port;
  });
  after(() => new Promise<void>((resolve) => server.close(() => resolve())));
  beforeEach(() => {
    mails.length = 0;
    answer = () => undefined;
  });

  const send = (more: Partial<NoticeMessage> = {}, login = '') =>
    noticeSender(LOOPBACK, { url: async () => `smtp://${login}127.0.0.1:${port}`, from: 'jobs@example.org' }).send(
      { kind: 'mail', to: ['ann@example.org', 'bob@example.org'] },
      { ...MESSAGE, ...more },
    );
  const refusal = (responseCode: number) => Object.assign(new Error('no such user'), { responseCode });

  it('goes to all addresses as plain text, with the same Message-ID each time', async () => {
    assert.deepEqual(await send({}, 'jobs:p%20w@'), { kind: 'sent' });
    const [mail] = mails;
    assert.deepEqual(mail?.to, ['ann@example.org', 'bob@example.org']);
    assert.match(mail.text, /^From: jobs@example\.org\r$/m);
    assert.match(mail.text, /^Subject: train-7f3k: preempted\r$/m);
    assert.match(mail.text, /^Message-ID: <run-1-17@jobctl>\r$/m);
    assert.match(mail.text, /^Content-Type: text\/plain/m);
    assert.ok(mail.text.includes('<gone> & back'));
  });

  it('has one line as its subject, whatever the event says', async () => {
    await send({ title: `a\r\nBcc: eve@example.org\r\n\r\n${'x'.repeat(500)}` });
    const [head = ''] = (mails[0]?.text ?? '').split('\r\n\r\n');
    assert.deepEqual(mails[0]?.to, ['ann@example.org', 'bob@example.org']);
    assert.doesNotMatch(head, /^Bcc/m);
  });

  it('is tried again after 4xx and a wrong login, and never after 5xx', async () => {
    answer = () => refusal(450);
    assert.equal((await send()).kind, 'later');
    answer = () => refusal(550);
    const refused = await send();
    assert.equal(refused.kind, 'never');
    const login = await send({}, 'jobs:wrong@');
    assert.equal(login.kind, 'later');
    assert.doesNotMatch(JSON.stringify([refused, login]), /wrong@|p%20w/);
  });

  it('is never sent by an installation without a mail server', async () => {
    const sender = noticeSender(LOOPBACK, undefined);
    assert.equal(sender.sendsMail, false);
    assert.equal((await sender.send({ kind: 'mail', to: ['a@b.org'] }, MESSAGE)).kind, 'never');
  });
});
