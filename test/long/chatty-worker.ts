import { installTelemetry } from '../../worker/telemetry.js';

/** A process that logs as a worker does: as many records as it is told, each told number answered when they were handed to the log. */
const log = installTelemetry({ logLevel: 'info', listenHost: '127.0.0.1' });
process.on('message', (count: number) => {
  for (let record = 1; record <= count; record++) log.info(`record ${record} of ${count}`);
  process.send?.(count);
});
process.send?.('ready');
