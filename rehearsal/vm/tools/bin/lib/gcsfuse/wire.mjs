// The kernel's FUSE protocol, version 7.31 (include/uapi/linux/fuse.h): what is read from and written to /dev/fuse.

export const OPCODES = {
  1: 'lookup',
  2: 'forget',
  3: 'getattr',
  4: 'setattr',
  8: 'mknod',
  9: 'mkdir',
  10: 'unlink',
  11: 'rmdir',
  12: 'rename',
  14: 'open',
  15: 'read',
  16: 'write',
  17: 'statfs',
  18: 'release',
  20: 'fsync',
  25: 'flush',
  26: 'init',
  27: 'opendir',
  28: 'readdir',
  29: 'releasedir',
  30: 'fsyncdir',
  34: 'access',
  35: 'create',
  36: 'interrupt',
  38: 'destroy',
  42: 'batchForget',
  45: 'rename2',
};
/** Requests that get no answer. */
export const UNANSWERED = new Set(['forget', 'batchForget', 'interrupt']);
export const ERRNO = {
  ENOENT: 2,
  EIO: 5,
  EACCES: 13,
  EEXIST: 17,
  ENOTDIR: 20,
  EISDIR: 21,
  EINVAL: 22,
  EMFILE: 24,
  EROFS: 30,
  ENOSYS: 38,
  ENOTEMPTY: 39,
  ESTALE: 116,
};

const IN_HEADER = 40;
const OUT_HEADER = 16;
const MAX_WRITE = 1 << 20;
/** The largest request is a write with its headers. */
export const BUFFER_SIZE = MAX_WRITE + 4096;

const [ASYNC_READ, ATOMIC_O_TRUNC, BIG_WRITES, PARALLEL_DIROPS, MAX_PAGES] = [1 << 0, 1 << 3, 1 << 5, 1 << 18, 1 << 22];

export function parseRequest(bytes) {
  return {
    operation: OPCODES[bytes.readUInt32LE(4)],
    unique: bytes.readBigUInt64LE(8),
    node: Number(bytes.readBigUInt64LE(16)),
    body: bytes.subarray(IN_HEADER),
  };
}

/** @param error a value of ERRNO; 0: no error */
export function answer(unique, error, body = Buffer.alloc(0)) {
  const header = Buffer.alloc(OUT_HEADER);
  header.writeUInt32LE(OUT_HEADER + body.length, 0);
  header.writeInt32LE(-error, 4);
  header.writeBigUInt64LE(unique, 8);
  return Buffer.concat([header, body]);
}

export function initAnswer() {
  const body = Buffer.alloc(64);
  body.writeUInt32LE(7, 0);
  body.writeUInt32LE(31, 4);
  body.writeUInt32LE(128 * 1024, 8); // read-ahead
  body.writeUInt32LE(ASYNC_READ | ATOMIC_O_TRUNC | BIG_WRITES | PARALLEL_DIROPS | MAX_PAGES, 12);
  body.writeUInt16LE(12, 16);
  body.writeUInt16LE(9, 18);
  body.writeUInt32LE(MAX_WRITE, 20);
  body.writeUInt32LE(1, 24); // ns
  body.writeUInt16LE(MAX_WRITE / 4096, 28);
  return body;
}

/** @param attributes {{id: number, isFolder: boolean, size: number, mtimeMs: number, mode: number, uid: number, gid: number}} */
function attributesOf({ id, isFolder, size, mtimeMs, mode, uid, gid }) {
  const body = Buffer.alloc(88);
  [id, size, Math.ceil(size / 512)].forEach((value, index) => body.writeBigUInt64LE(BigInt(value), index * 8));
  const [seconds, nanoseconds] = [Math.floor(mtimeMs / 1000), (mtimeMs % 1000) * 1e6];
  for (const index of [0, 1, 2]) {
    body.writeBigUInt64LE(BigInt(seconds), 24 + index * 8);
    body.writeUInt32LE(Math.floor(nanoseconds), 48 + index * 4);
  }
  const kind = isFolder ? 0o040000 : 0o100000;
  [kind | mode, 1, uid, gid, 0, 4096].forEach((value, index) => body.writeUInt32LE(value, 60 + index * 4));
  return body;
}

/** The kernel caches nothing: writes by another mount or by gcloud are seen at the next look-up. */
export const attributeAnswer = (attributes) => Buffer.concat([Buffer.alloc(16), attributesOf(attributes)]);

export function entryAnswer(attributes) {
  const head = Buffer.alloc(40);
  head.writeBigUInt64LE(BigInt(attributes.id), 0);
  return Buffer.concat([head, attributesOf(attributes)]);
}

export function openAnswer(handle) {
  const body = Buffer.alloc(16);
  body.writeBigUInt64LE(BigInt(handle), 0);
  return body;
}

export function writtenAnswer(size) {
  const body = Buffer.alloc(8);
  body.writeUInt32LE(size, 0);
  return body;
}

/** A bucket has no size limit: the numbers of blocks and files are those that gcsfuse reports. */
export function statfsAnswer() {
  const body = Buffer.alloc(80);
  for (const index of [0, 1, 2, 3, 4]) body.writeBigUInt64LE(1n << 33n, index * 8);
  [4096, 255, 4096].forEach((value, index) => body.writeUInt32LE(value, 40 + index * 4));
  return body;
}

/** Entries from `offset` on, as many as `size` bytes hold. @param entries {{name: string, isFolder: boolean}[]} */
export function folderAnswer(entries, offset, size) {
  const parts = [];
  let used = 0;
  for (let index = offset; index < entries.length; index++) {
    const name = Buffer.from(entries[index].name);
    const entry = Buffer.alloc(Math.ceil((24 + name.length) / 8) * 8);
    if (used + entry.length > size) break;
    entry.writeBigUInt64LE(BigInt(index + 2), 0);
    entry.writeBigUInt64LE(BigInt(index + 1), 8);
    entry.writeUInt32LE(name.length, 16);
    entry.writeUInt32LE(entries[index].isFolder ? 4 : 8, 20);
    name.copy(entry, 24);
    parts.push(entry);
    used += entry.length;
  }
  return Buffer.concat(parts);
}

/** Splits a sequence of strings that end in NUL. */
export function namesIn(bytes) {
  return bytes.toString('utf8').split('\0').slice(0, -1);
}
