import { request as plainRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { messageOf } from '../../domain/error-words.js';
import { CONTAINER } from '../../domain/machine-kinds/kubernetes/words.js';
import { portErrorOf, statusOf } from '../machines/kubernetes/api-failure.js';
import type { Cluster } from '../machines/kubernetes/cluster.js';
import { CloudUnavailable } from '../machines/port.js';

/** Limit for the text of a refusal; a Status is short. */
const MOST_TEXT = 4096;

/**
 * Writes a container's log from its beginning to its end; the container may still be running. It sends its own request, because
 * the library's `Log` has no listener for a connection that breaks, which ends the process (1.4 and 2.0).
 */
export async function followLog(
  { config, server }: Pick<Cluster, 'config' | 'server'>,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  output: Writable,
  signal: AbortSignal,
): Promise<void> {
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}/log`;
  const url = new URL(`${server.replace(/\/$/, '')}${path}`);
  url.search = new URLSearchParams({ container: CONTAINER, follow: 'true' }).toString();
  const options = { method: 'GET', signal };
  try {
    await config.applyToHTTPSOptions(options);
    const answer = await responseOf(url, options);
    if (answer.statusCode !== 200) throw await refusalOf(answer);
    await pipeline(answer, output, { signal });
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Refusal)) throw new CloudUnavailable(messageOf(error));
    throw portErrorOf(error);
  }
}

class Refusal extends Error {
  readonly status: number;
  readonly reason?: string;

  constructor(status: number, { message, reason }: { readonly message?: string; readonly reason?: string } = {}) {
    super(message ?? `HTTP ${status}`);
    this.status = status;
    if (reason !== undefined) this.reason = reason;
  }
}

function responseOf(url: URL, options: object): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'http:' ? plainRequest : request;
    send(url, options, resolve).on('error', reject).end();
  });
}

async function refusalOf(answer: IncomingMessage): Promise<Refusal> {
  let text = '';
  for await (const chunk of answer as AsyncIterable<Buffer>)
    if (text.length < MOST_TEXT) text += chunk.toString('utf8');
  return new Refusal(answer.statusCode ?? 0, statusOf(text));
}
