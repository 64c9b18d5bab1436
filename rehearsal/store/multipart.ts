import { parseResource } from './request-body.js';
import { storeErrors } from './store-error.js';

/** Most bytes before an object's content in a multipart/related upload. */
const HEAD_LIMIT = 1024 * 1024;

export interface UploadHead {
  readonly resource: Record<string, unknown>;
  /** Read it once, to its end. Reading throws StoreError 400 if the closing boundary is missing. */
  readonly content: AsyncIterable<Buffer>;
}

/** Throws StoreError 400. */
export function boundaryOf(contentType: string): string {
  const match = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw storeErrors.invalid('Missing multipart boundary in the Content-Type header.');
  return boundary.replace(/^'(.*)'$/, '$1');
}

/**
 * Reads a multipart/related upload: the resource as JSON, then the content, which is passed on as it arrives. Lines may end with
 * a bare newline: apitools (gcloud, gsutil) sends them so.
 */
export async function readMultipart(body: AsyncGenerator<Buffer, void>, contentType: string): Promise<UploadHead> {
  const boundary = `--${boundaryOf(contentType)}`;
  const source = new PartReader(body);
  const opening = await source.take(Buffer.from(boundary));
  if (opening.toString().trim() !== '') throw malformed('no boundary at its start');
  const newline = (await source.take(Buffer.from('\n'))).toString().endsWith('\r') ? '\r\n' : '\n';
  const delimiter = Buffer.from(`${newline}${boundary}`);
  const first = await source.take(delimiter);
  await source.take(Buffer.from('\n'));
  const blank = Buffer.from(newline + newline);
  const secondHeaders = (await source.takeHeaders(newline, blank)).toString();
  const text = first.toString();
  const start = text.startsWith(newline) ? 0 : text.indexOf(newline + newline) + newline.length;
  const resource = parseResource(text.slice(start + newline.length));
  return {
    resource: { ...contentTypeOf(secondHeaders), ...resource },
    content: source.until(Buffer.from(`${newline}${boundary}--`)),
  };
}

function contentTypeOf(headers: string): { readonly contentType?: string } {
  const contentType = /^content-type:\s*(.+?)\s*$/im.exec(headers)?.[1];
  return contentType === undefined ? {} : { contentType };
}

function malformed(why: string): Error {
  return storeErrors.invalid(`Malformed multipart body: ${why}.`);
}

/** Cuts a stream at given bytes. */
class PartReader {
  readonly #source: AsyncGenerator<Buffer, void>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncGenerator<Buffer, void>) {
    this.#source = source;
  }

  /** Returns the bytes before the mark, and consumes the mark too. */
  async take(mark: Buffer): Promise<Buffer> {
    for (let at = this.#held.indexOf(mark); ; at = this.#held.indexOf(mark)) {
      if (at >= 0) {
        const taken = this.#held.subarray(0, at);
        this.#held = this.#held.subarray(at + mark.length);
        return taken;
      }
      if (this.#held.length > HEAD_LIMIT) throw malformed('its head is too long');
      if (!(await this.#more())) throw malformed(`'${mark.toString().trim()}' does not come`);
    }
  }

  /** Reads a part's headers. A part without headers begins with the blank line itself. */
  async takeHeaders(newline: string, blank: Buffer): Promise<Buffer> {
    while (this.#held.length < newline.length && (await this.#more()));
    if (this.#held.subarray(0, newline.length).equals(Buffer.from(newline))) return this.take(Buffer.from(newline));
    return this.take(blank);
  }

  /** Yields all bytes up to the mark. Bytes after it are read and dropped. */
  async *until(mark: Buffer): AsyncGenerator<Buffer, void> {
    for (;;) {
      const at = this.#held.indexOf(mark);
      if (at >= 0) {
        if (at > 0) yield this.#held.subarray(0, at);
        for await (const _ of this.#source);
        return;
      }
      // The mark may have begun in the last bytes held.
      const safe = this.#held.length - mark.length + 1;
      if (safe > 0) {
        yield this.#held.subarray(0, safe);
        this.#held = this.#held.subarray(safe);
      }
      if (!(await this.#more())) throw malformed('the closing boundary does not come');
    }
  }

  async #more(): Promise<boolean> {
    const next = await this.#source.next();
    if (next.done === true) return false;
    this.#held = this.#held.length === 0 ? next.value : Buffer.concat([this.#held, next.value]);
    return true;
  }
}
