import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { connectTemporal } from '../client/connect.js';
import { WorkflowType } from '../workflows/messages.js';

/**
 * Writes histories of a running Temporal into test/replay/histories/<version>/, for test/replay:
 *
 *   npx tsx scripts/record-histories.ts --address 127.0.0.1:7233            the newest runs of each workflow
 *   npx tsx scripts/record-histories.ts --address 127.0.0.1:7233 demo-x7k2  all runs of these workflow ids
 *
 * `npx jobctl dev status` shows the address of the local stack. Histories hold what the jobs held: record rehearsals only.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    address: { type: 'string' },
    namespace: { type: 'string' },
    /** Runs of each workflow type. */
    limit: { type: 'string', default: '8' },
    version: { type: 'string', default: versionOfPackage() },
  },
});
const folder = fileURLToPath(new URL(`../test/replay/histories/${values.version}`, import.meta.url));

const { address, namespace } = values;
const { client, close } = await connectTemporal({ ...(address && { address }), ...(namespace && { namespace }) });
try {
  const written: string[] = [];
  for (const query of queries()) {
    let left = positionals.length > 0 ? Infinity : Number(values.limit);
    for await (const { workflowId, runId, type } of client.workflow.list({ query })) {
      if (left-- <= 0) break;
      written.push(await record(type, workflowId, runId));
    }
  }
  if (written.length === 0)
    throw new Error(`${values.address ?? 'Temporal'} has no such workflow: run some jobs first`);
  console.log(`${written.join('\n')}\n${written.length} histories in ${folder}`);
} finally {
  await close();
}

function queries(): readonly string[] {
  if (positionals.length > 0) return positionals.map((id) => `WorkflowId = '${id}'`);
  return [WorkflowType.Job, WorkflowType.Slice, WorkflowType.Quota].map((type) => `WorkflowType = '${type}'`);
}

async function record(type: string, workflowId: string, runId: string): Promise<string> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const name = `${type}-${workflowId.replaceAll(/[^\w.-]+/g, '_')}-${runId.slice(0, 8)}.json`;
  const content = { workflowId, history: JSON.parse(historyToJSON(history)) as unknown };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), `${JSON.stringify(content)}\n`);
  return name;
}

function versionOfPackage(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
