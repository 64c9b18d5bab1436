import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { connectTemporal } from '../client/connect.js';
import { openCodec } from '../cloud/codec/payload-codec.js';
import { TASK_QUEUE } from '../domain/temporal-server.js';
import { dataConverterOf, LOADING } from '../worker/workflow-code.js';

/**
 * Replays every open workflow of an installation on the workflow code of this checkout, before a worker of it runs
 * (docs/operations.md, "Upgrade"). It only reads. It exits 1 if this build could not continue some workflows, and names them.
 *
 *   npx tsx scripts/replay-open-workflows.ts --address 127.0.0.1:7233
 *
 * Payloads may be encrypted: JOBCTL_CODEC_KEY names the key, as for the command line.
 */
const { values } = parseArgs({
  options: {
    address: { type: 'string' },
    namespace: { type: 'string' },
    'task-queue': { type: 'string', default: process.env['JOBCTL_TASK_QUEUE'] ?? TASK_QUEUE },
  },
});
Runtime.install({ logger: new DefaultLogger('ERROR') });
const codec = await openCodec({ key: process.env['JOBCTL_CODEC_KEY'] }, { onUnknownKey: 'fail' });
const file = codec.isEncrypting ? 'workflow-bundle-encrypting.js' : 'workflow-bundle.js';
const codePath = fileURLToPath(new URL(`../worker/dist/${file}`, import.meta.url));
if (!existsSync(codePath)) throw new Error(`${codePath} is not there: run 'npm ci' or 'npm run build' first`);

const { address, namespace } = values;
const { client, close } = await connectTemporal({ ...(address && { address }), ...(namespace && { namespace }) });
try {
  const query = `ExecutionStatus = 'Running' AND TaskQueue = '${values['task-queue']}'`;
  const histories = client.workflow.list({ query }).intoHistories({ concurrency: 5 });
  const options = { workflowBundle: { codePath }, dataConverter: dataConverterOf(codec), ...LOADING };
  let [passed, failed] = [0, 0];
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories)) {
    if (error) console.log(`${workflowId}: ${error.message}`);
    if (error) failed++;
    else passed++;
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  await close();
}
