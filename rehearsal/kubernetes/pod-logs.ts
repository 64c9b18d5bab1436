import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { logFile } from '../vm/container.js';
import { refusals } from './api-status.js';
import type { Kubelet } from './kubelet.js';
import type { Pod } from './objects.js';

/** Interval between reads of a followed log, ms. */
const LOOK_MS = 100;
const CHUNK_BYTES = 64 * 1024;

/**
 * Sends the output of the container's first process, stdout and stderr as one. `follow`, `tailLines` and `limitBytes` are obeyed;
 * times of lines are not kept.
 * @throws ApiRefusal before anything is sent
 */
export async function serveLogs(
  kubelet: Kubelet,
  pod: Pod,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const file = logFile(kubelet.folderOf(pod));
  const { state } = pod.status.containerStatuses?.[0] ?? {};
  const name = pod.spec.containers[0]?.name ?? '';
  if (!existsSync(file) || state === undefined || state.waiting !== undefined) {
    const why = state?.waiting?.reason ?? 'ContainerCreating';
    throw refusals.badRequest(`container "${name}" in pod "${pod.metadata.name}" is waiting to start: ${why}`);
  }
  const isFollowed = /^(1|true)$/.test(query.get('follow') ?? '');
  const tail = query.get('tailLines');
  let left = Number(query.get('limitBytes') ?? Infinity);
  const handle = await open(file);
  try {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    let at = tail === null ? 0 : await tailStart(handle, Number(tail));
    const chunk = Buffer.alloc(CHUNK_BYTES);
    while (!response.destroyed && left > 0) {
      // Checked before the read, so that output printed in between is not lost.
      const isRunning = kubelet.containerOf(pod) !== undefined;
      const { bytesRead } = await handle.read(chunk, 0, Math.min(CHUNK_BYTES, left), at);
      at += bytesRead;
      left -= bytesRead;
      if (bytesRead > 0) {
        await written(response, Buffer.from(chunk.subarray(0, bytesRead)));
      } else if (!isFollowed || !isRunning) break;
      else await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    response.end();
  } finally {
    await handle.close();
  }
}

/** Resolves also if the client has gone. */
const written = (response: ServerResponse, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => void response.write(bytes, () => resolve()));

async function tailStart(handle: Awaited<ReturnType<typeof open>>, lines: number): Promise<number> {
  const text = await handle.readFile();
  let at = text.length;
  for (let found = 0; at > 0; at -= 1) {
    if (text[at - 1] !== 10 || at === text.length) continue;
    if (++found === lines) break;
  }
  return lines === 0 ? text.length : at;
}
