// server.mjs BUCKET MOUNT_POINT OPTIONS: answers the kernel on /dev/fuse (file descriptor 3) until the mount is taken away.
import { spawnSync } from 'node:child_process';
import { read, writeSync } from 'node:fs';
import { BucketTree, FileError } from './bucket-tree.mjs';
import * as wire from './wire.mjs';

const DEVICE = 3;
const O_TRUNC = 0o1000;
const SIZE_GIVEN = 1 << 3;

const [bucket, mountPoint, text] = process.argv.slice(2);
const options = JSON.parse(text);
const tree = new BucketTree(bucket, options);
const openCounts = new Map(); // handles by node id
const listings = new Map(); // entries by handle, so that a listing in parts is consistent
let lastHandle = 0;

const owner = { uid: Number(options.uid ?? process.getuid()), gid: Number(options.gid ?? process.getgid()) };
const modes = { folder: parseInt(options['dir-mode'] ?? '755', 8), file: parseInt(options['file-mode'] ?? '644', 8) };

const attributes = (node) => ({ ...node, ...owner, mode: node.isFolder ? modes.folder : modes.file });

function opened(node) {
  openCounts.set(node.id, (openCounts.get(node.id) ?? 0) + 1);
  return wire.openAnswer(++lastHandle);
}

/** One function per request of the kernel. @returns {Promise<Buffer | undefined>} the body of the answer. */
const handlers = {
  init: async () => wire.initAnswer(),
  destroy: async () => undefined,
  statfs: async () => wire.statfsAnswer(),
  access: async () => undefined,
  lookup: async ({ node, body }) =>
    wire.entryAnswer(attributes(await tree.lookUp(tree.node(node), wire.namesIn(body)[0]))),
  getattr: async ({ node }) => wire.attributeAnswer(attributes(await tree.refresh(tree.node(node)))),
  async setattr({ node: id, body }) {
    const node = tree.node(id);
    if ((body.readUInt32LE(0) & SIZE_GIVEN) !== 0) {
      await tree.truncate(node, Number(body.readBigUInt64LE(16)));
      if (!openCounts.has(id)) await settle(node);
    }
    return wire.attributeAnswer(attributes(node));
  },
  async open({ node: id, body }) {
    const node = await tree.refresh(tree.node(id));
    if ((body.readUInt32LE(0) & O_TRUNC) !== 0) await tree.edit(node, true);
    return opened(node);
  },
  async create({ node, body }) {
    const created = tree.create(tree.node(node), wire.namesIn(body.subarray(16))[0]);
    return Buffer.concat([wire.entryAnswer(attributes(created)), opened(created)]);
  },
  async mknod({ node, body }) {
    const created = tree.create(tree.node(node), wire.namesIn(body.subarray(16))[0]);
    await settle(created);
    return wire.entryAnswer(attributes(created));
  },
  read: async ({ node, body }) => tree.read(tree.node(node), Number(body.readBigUInt64LE(8)), body.readUInt32LE(16)),
  async write({ node, body }) {
    const size = body.readUInt32LE(16);
    await tree.write(tree.node(node), Number(body.readBigUInt64LE(8)), body.subarray(40, 40 + size));
    return wire.writtenAnswer(size);
  },
  flush: async ({ node }) => tree.sync(tree.node(node)),
  fsync: async ({ node }) => tree.sync(tree.node(node)),
  async release({ node: id }) {
    const left = (openCounts.get(id) ?? 1) - 1;
    if (left > 0) return void openCounts.set(id, left);
    openCounts.delete(id);
    await settle(tree.node(id));
  },
  async opendir() {
    return wire.openAnswer(++lastHandle);
  },
  async readdir({ node, body }) {
    const [handle, offset] = [Number(body.readBigUInt64LE(0)), Number(body.readBigUInt64LE(8))];
    if (offset === 0) listings.set(handle, await tree.entries(tree.node(node)));
    return wire.folderAnswer(listings.get(handle) ?? [], offset, body.readUInt32LE(16));
  },
  async releasedir({ body }) {
    listings.delete(Number(body.readBigUInt64LE(0)));
  },
  fsyncdir: async () => undefined,
  mkdir: async ({ node, body }) =>
    wire.entryAnswer(attributes(await tree.makeFolder(tree.node(node), wire.namesIn(body.subarray(8))[0]))),
  unlink: async ({ node, body }) => tree.removeFile(tree.node(node), wire.namesIn(body)[0]),
  rmdir: async ({ node, body }) => tree.removeFolder(tree.node(node), wire.namesIn(body)[0]),
  rename: async ({ node, body }) => rename(node, body, 8),
  rename2: async ({ node, body }) => rename(node, body, 16),
};

async function rename(node, body, namesAt) {
  const [from, to] = wire.namesIn(body.subarray(namesAt));
  await tree.rename(tree.node(node), from, tree.node(Number(body.readBigUInt64LE(0))), to);
}

/** Uploads changes and drops the draft. */
async function settle(node) {
  try {
    await tree.sync(node);
  } finally {
    tree.release(node);
  }
}

async function serve(request) {
  const handler = handlers[request.operation];
  if (wire.UNANSWERED.has(request.operation)) return;
  let reply;
  try {
    if (handler === undefined) throw new FileError(wire.ERRNO.ENOSYS);
    reply = wire.answer(request.unique, 0, await handler(request));
  } catch (error) {
    reply = wire.answer(request.unique, errnoOf(error));
  }
  try {
    writeSync(DEVICE, reply);
  } catch (error) {
    // ENOENT: the caller was interrupted and waits no more.
    if (error.code !== 'ENOENT') throw error;
  }
}

function errnoOf(error) {
  if (error instanceof FileError) return error.errno;
  process.stderr.write(`gcsfuse: ${error.stack}\n`);
  return { 404: wire.ERRNO.ENOENT, 403: wire.ERRNO.EACCES, 412: wire.ERRNO.ESTALE }[error.status] ?? wire.ERRNO.EIO;
}

function next() {
  // Each request has its own buffer: requests are served at the same time.
  const buffer = Buffer.allocUnsafe(wire.BUFFER_SIZE);
  read(DEVICE, buffer, 0, buffer.length, null, (error, size) => {
    if (error?.code === 'ENODEV') return end(0); // unmounted
    if (error === null) void serve(wire.parseRequest(buffer.subarray(0, size)));
    else if (!['EINTR', 'EAGAIN', 'ENOENT'].includes(error.code)) return end(1);
    next();
  });
}

function end(code) {
  tree.close();
  process.exit(code);
}

for (const signal of ['SIGINT', 'SIGTERM'])
  process.on(signal, () => spawnSync('umount', [mountPoint]).status === 0 || end(1));
next();
