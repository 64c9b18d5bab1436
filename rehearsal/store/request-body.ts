import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { isJsonType } from '../json.js';
import { storeErrors } from './store-error.js';

/** Limit of a body that is not an object's content: a resource or a list of sources is small. */
const JSON_LIMIT = 8 * 1024 * 1024;

/** A request's bytes, as they arrive. */
export class RequestBody {
  readonly #content: AsyncIterable<Uint8Array>;
  readonly #type: string;
  #bytes = 0;

  /** @param type the header content-type */
  constructor(content: AsyncIterable<Uint8Array>, type = '') {
    this.#content = content;
    this.#type = type;
  }

  /** Number of bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  async *stream(): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of this.#content) {
      this.#bytes += chunk.length;
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    }
  }

  /** Throws StoreError 413. */
  async whole(limit = JSON_LIMIT): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of this.stream()) {
      chunks.push(chunk);
      if (this.#bytes > limit) throw storeErrors.tooLarge(limit);
    }
    return Buffer.concat(chunks);
  }

  /**
   * Parses a JSON object; an empty body is an empty object. Throws StoreError 400, also if the content type is not JSON: a web
   * page could send such a body unasked.
   */
  async json(): Promise<Record<string, unknown>> {
    const text = (await this.whole()).toString();
    if (text.trim() !== '' && !isJsonType(this.#type)) throw storeErrors.notJson(this.#type);
    return parseResource(text);
  }
}

/** Throws StoreError 400. */
export function parseResource(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw storeErrors.parseError();
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw storeErrors.parseError();
  return value as Record<string, unknown>;
}

/** Unpacks a body compressed for transport (`gcloud storage cp --gzip-in-flight`). Throws StoreError 400 if it is not gzip. */
export async function* unpackedBody(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  const gunzip = createGunzip();
  pipeline(Readable.from(content), gunzip, () => undefined);
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } catch (error) {
    throw storeErrors.invalid(`Content-Encoding says gzip, the body does not unpack: ${String(error)}`);
  }
}
