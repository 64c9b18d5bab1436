import { installTelemetry } from '../../worker/telemetry.js';

// A worker's telemetry on the port that is named, in a process of its own: the SDK has one runtime for each process.
try {
  installTelemetry({ logLevel: 'info', listenHost: '127.0.0.1', metricsPort: Number(process.argv[2]) });
  console.log('installed');
} catch (error) {
  console.log((error as Error).message);
}
process.exit();
