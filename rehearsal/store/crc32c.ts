import { createHash } from 'node:crypto';

// Castagnoli's polynomial, reflected.
const POLYNOMIAL = 0x82f63b78;
/** Bytes per step: eight tables instead of one are four times as fast (Intel, "slicing by 8"). */
const SLICES = 8;
const TABLES = makeTables();

function makeTables(): Int32Array {
  const tables = new Int32Array(SLICES * 256);
  for (let byte = 0; byte < 256; byte += 1) {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1;
    tables[byte] = value;
  }
  for (let at = 256; at < tables.length; at += 1) {
    const previous = tables[at - 256] ?? 0;
    tables[at] = (previous >>> 8) ^ (tables[previous & 255] ?? 0);
  }
  return tables;
}

function byteAt(content: Uint8Array, at: number): number {
  return content[at] ?? 0;
}

function entry(table: number, byte: number): number {
  return TABLES[table * 256 + (byte & 255)] ?? 0;
}

/** CRC-32C of bytes that arrive in pieces. */
export class Crc32c {
  #crc = -1;

  update(content: Uint8Array): void {
    let crc = this.#crc;
    let at = 0;
    for (const end = content.length - SLICES; at <= end; at += SLICES) {
      const bytes =
        byteAt(content, at) |
        (byteAt(content, at + 1) << 8) |
        (byteAt(content, at + 2) << 16) |
        (byteAt(content, at + 3) << 24);
      const low = crc ^ bytes;
      crc =
        entry(7, low) ^
        entry(6, low >>> 8) ^
        entry(5, low >>> 16) ^
        entry(4, low >>> 24) ^
        entry(3, byteAt(content, at + 4)) ^
        entry(2, byteAt(content, at + 5)) ^
        entry(1, byteAt(content, at + 6)) ^
        entry(0, byteAt(content, at + 7));
    }
    for (; at < content.length; at += 1) crc = (crc >>> 8) ^ entry(0, crc ^ byteAt(content, at));
    this.#crc = crc;
  }

  /** Cloud Storage's form: base64 of the four bytes, big-endian. */
  digest(): string {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(this.#crc ^ -1);
    return bytes.toString('base64');
  }
}

export function crc32c(content: Uint8Array): string {
  const crc = new Crc32c();
  crc.update(content);
  return crc.digest();
}

/** Size and hashes of an object's bytes. */
export interface ContentHashes {
  readonly size: number;
  readonly crc32c: string;
  /** Base64, as in an object's md5Hash. Absent for bytes that were composed from others. */
  readonly md5?: string;
}

/** Both hashes of bytes that arrive in pieces. */
export class ContentHasher {
  readonly #crc = new Crc32c();
  readonly #md5 = createHash('md5');
  #size = 0;

  get size(): number {
    return this.#size;
  }

  update(chunk: Uint8Array): void {
    this.#crc.update(chunk);
    this.#md5.update(chunk);
    this.#size += chunk.length;
  }

  /** Call only once. */
  digest(): Required<ContentHashes> {
    return { size: this.#size, crc32c: this.#crc.digest(), md5: this.#md5.digest('base64') };
  }
}
