/** The worker as a process of its own, as `jobctl worker --config FILE` runs it. */
import { loadWorkerConfig } from '../../worker/config.js';
import { runWorker } from '../../worker/run-worker.js';

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
await runWorker(loadWorkerConfig({ file: process.argv[2] as string, environment: {}, flags: {} }), stop.signal);
process.exit(0);
