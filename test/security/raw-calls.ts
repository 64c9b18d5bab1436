import { request as httpRequest } from 'node:http';
import { connect } from 'node:http2';
import { request as httpsRequest } from 'node:https';

/** One call as it goes over the wire: nothing is added that a library would add. Imports Node alone, so that any login can run it. */
export interface RawCall {
  readonly name: string;
  /** `https`, and gRPC at a URL of that scheme, trust any certificate. */
  readonly wire: 'http' | 'https' | 'grpc';
  /** Of gRPC the path is the method's. */
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** In base64, since the other login gets it as JSON. */
  readonly body?: string;
}

export interface RawAnswer {
  readonly name: string;
  /** Of HTTP; of gRPC the number of its status, 0 for success. */
  readonly status: number;
  readonly text: string;
}

/** In place of a status: the connection was refused, or ended without one. */
export const NO_ANSWER = -1;

export async function makeCall(call: RawCall): Promise<RawAnswer> {
  const answer = call.wire === 'grpc' ? grpcAnswer(call) : httpAnswer(call);
  const { status, text } = await answer.catch((error: unknown) => ({ status: NO_ANSWER, text: String(error) }));
  return { name: call.name, status, text };
}

const bodyOf = ({ body }: RawCall): Buffer => Buffer.from(body ?? '', 'base64');

function httpAnswer(call: RawCall): Promise<{ readonly status: number; readonly text: string }> {
  const send = call.wire === 'https' ? httpsRequest : httpRequest;
  const { method = 'GET', headers = {} } = call;
  const length = call.body === undefined ? {} : { 'content-length': String(bodyOf(call).length) };
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, ...length }, agent: false, rejectUnauthorized: false };
    const sent = send(call.url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    // Where a call asks for a WebSocket and gets it.
    sent.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, text: '' });
    });
    sent.on('error', reject);
    sent.end(bodyOf(call));
  });
}

function grpcAnswer(call: RawCall): Promise<{ readonly status: number; readonly text: string }> {
  const { origin, pathname } = new URL(call.url);
  const session = connect(origin, { rejectUnauthorized: false });
  const message = bodyOf(call);
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  message.copy(frame, 5);
  return new Promise<{ readonly status: number; readonly text: string }>((resolve, reject) => {
    session.on('error', reject);
    const own = { ':method': 'POST', ':path': pathname, 'content-type': 'application/grpc', te: 'trailers' };
    const stream = session.request({ ...own, ...call.headers });
    let found: Record<string, unknown> = {};
    const look = (headers: object): void => void (found = { ...found, ...headers });
    stream
      .on('response', look)
      .on('trailers', look)
      .on('error', reject)
      .on('data', () => undefined);
    stream.on('end', () =>
      resolve({
        status: Number(found['grpc-status'] ?? NO_ANSWER),
        text: decodeURIComponent(String(found['grpc-message'] ?? '')),
      }),
    );
    stream.end(frame);
  }).finally(() => session.destroy());
}

/** As a program: calls as JSON on stdin, answers as JSON on stdout. */
async function main(): Promise<void> {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  const answers: RawAnswer[] = [];
  for (const call of JSON.parse(text) as readonly RawCall[]) answers.push(await makeCall(call));
  process.stdout.write(JSON.stringify(answers));
}

if (process.argv.includes('--calls-from-stdin')) void main();
