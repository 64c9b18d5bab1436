import { startStoreServer } from '../store/server.js';

/** The rehearsal's Cloud Storage in a process of its own: `store-process.ts FOLDER` prints its URL. Everybody may do everything. */
async function main(): Promise<void> {
  const { url } = await startStoreServer(process.argv[2] ?? '', 0, {
    record: () => undefined,
    refusal: () => undefined,
    rights: { authorize: () => undefined, granted: (_authorization, permissions) => permissions },
  });
  process.stdout.write(`${url}\n`);
}

void main();
