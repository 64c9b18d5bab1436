// Gives one file to whoever asks by HTTP: the public keys that a Temporal server verifies API keys with, which it fetches by HTTP
// alone. The file is read at each call, so a new one counts at once.   node serve-key-set.mjs FILE PORT
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';

const [file, port] = process.argv.slice(2);
const server = createServer(async (request, response) => {
  if (request.url !== `/${basename(file)}`) return response.writeHead(404).end();
  try {
    response.setHeader('content-type', 'application/json').end(await readFile(file));
  } catch (error) {
    // Temporal keeps the keys that it has.
    response.writeHead(500).end(`${file}: ${error.code}\n`);
  }
});
server.listen(Number(port), process.env.HOST ?? '0.0.0.0', () =>
  console.log(`${file} on port ${server.address().port}`),
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit());
