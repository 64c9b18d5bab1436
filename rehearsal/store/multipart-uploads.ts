import { randomBytes } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import { withoutMd5 } from './blobs.js';
import type { Buckets } from './buckets.js';
import { ContentHasher } from './crc32c.js';
import type { ObjectRecord } from './object-record.js';
import { pickAttributes } from './object-record.js';
import { storeErrors } from './store-error.js';
import type { ExpectedHashes } from './upload-checks.js';
import { checkHashes } from './upload-checks.js';

/** An object to be composed from parts. Plain JSON. */
interface PartsRequest {
  readonly bucket: string;
  readonly name: string;
  readonly resource: Record<string, unknown>;
}

export interface NamedPart {
  readonly number: number;
  /** MD5 of the part in hexadecimal, as the answer to its upload gave it. */
  readonly etag: string;
}

/**
 * XML API multipart uploads (cloud.google.com/storage/docs/multipart-uploads, 2026-11): the Python client's
 * `upload_chunks_concurrently` makes them. Each has a folder with `request.json`, and `<number>.<md5>` for every part, so uploads
 * outlive the process.
 */
export class MultipartUploads {
  readonly #folder: string;
  readonly #buckets: Buckets;

  constructor(folder: string, buckets: Buckets) {
    this.#folder = folder;
    this.#buckets = buckets;
  }

  /** @returns the upload's id. */
  begin(request: PartsRequest): string {
    this.#buckets.get(request.bucket);
    pickAttributes(request.resource);
    const id = randomBytes(16).toString('hex');
    makeFolderSync(join(this.#folder, id));
    writeFileSync(join(this.#folder, id, 'request.json'), JSON.stringify(request));
    return id;
  }

  /** Stores a part. The same number again replaces the part. */
  async put(
    id: string,
    number: number,
    content: AsyncIterable<Uint8Array>,
    expected: ExpectedHashes,
  ): Promise<{ readonly etag: string; readonly crc32c: string; readonly md5: string }> {
    this.#request(id);
    const incoming = join(this.#folder, id, `incoming-${randomBytes(6).toString('hex')}`);
    const hasher = new ContentHasher();
    const file = await open(incoming, 'w');
    try {
      for await (const chunk of content) {
        hasher.update(chunk);
        await file.writev([chunk]);
      }
      const hashes = hasher.digest();
      checkHashes(expected, hashes);
      const etag = Buffer.from(hashes.md5, 'base64').toString('hex');
      this.#removePart(id, number);
      renameSync(incoming, join(this.#folder, id, `${number}.${etag}`));
      return { etag, ...hashes };
    } finally {
      await file.close();
      rmSync(incoming, { force: true });
    }
  }

  /** Composes the named parts in the order of their numbers. Throws StoreError 400 if one is missing. */
  async complete(id: string, parts: readonly NamedPart[]): Promise<ObjectRecord> {
    const { bucket, name, resource } = this.#request(id);
    const files = parts
      .toSorted((a, b) => a.number - b.number)
      .map(({ number, etag }) => {
        const file = join(this.#folder, id, `${number}.${etag}`);
        if (!/^[0-9a-f]{32}$/.test(etag) || !existsSync(file)) throw storeErrors.invalidPart(number);
        return file;
      });
    if (files.length === 0) throw storeErrors.malformedXml();
    const { objects, defaults } = this.#buckets.get(bucket);
    const staged = withoutMd5(await objects.stage(contentsOf(files)));
    const attributes = { ...defaults, ...pickAttributes(resource) };
    const record = objects.write(name, staged, { attributes, wanted: {}, componentCount: files.length });
    rmSync(join(this.#folder, id), { recursive: true });
    return record;
  }

  /** Throws StoreError 404. */
  abort(id: string): void {
    this.#request(id);
    rmSync(join(this.#folder, id), { recursive: true });
  }

  #request(id: string): PartsRequest {
    const file = join(this.#folder, id, 'request.json');
    if (!/^[0-9a-f]{32}$/.test(id) || !existsSync(file)) throw storeErrors.noUpload();
    return JSON.parse(readFileSync(file, 'utf8')) as PartsRequest;
  }

  #removePart(id: string, number: number): void {
    const folder = join(this.#folder, id);
    const old = readdirSync(folder).filter((file) => file.startsWith(`${number}.`));
    for (const file of old) rmSync(join(folder, file));
  }
}

async function* contentsOf(files: readonly string[]): AsyncGenerator<Buffer> {
  for (const file of files) for await (const chunk of createReadStream(file)) yield chunk as Buffer;
}
