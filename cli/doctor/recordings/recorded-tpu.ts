import type * as Connection from '../../../cloud/machines/cloud-tpu/tpu-connection.js';
import { TpuApi } from '../../../cloud/machines/cloud-tpu/tpu-api.js';
import type { OnExchange } from '../../../cloud/exchange.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { loadFrom } from '../../place/packages.js';

/** The calls that a worker makes, by the same client, with each exchange reported. */
export interface RecordedTpu {
  readonly api: TpuApi;
  readonly close: () => Promise<void>;
}

const SETTINGS = { budget: { callsPerSecond: 5, burst: 20 }, callTimeoutMs: 30_000, pageSize: 1000 };

/** @param address `host:port` in place of Google's, for tests; with TLS and credentials as Google's. @throws CliError */
export async function openRecordedTpu(hear: OnExchange, address?: string): Promise<RecordedTpu> {
  const { TpuConnection } = await loadFrom<typeof Connection>('@jobctl/worker', 'cloud-tpu-connection');
  const connection = new TpuConnection(address === undefined ? undefined : endpointOf(address), hear);
  return { api: new TpuApi(connection, SETTINGS), close: () => connection.close() };
}

function endpointOf(address: string) {
  const [, host = '', port = ''] = /^([\w.-]+):(\d{1,5})$/.exec(address) ?? [];
  if (host === '') throw new CliError(ExitCode.Usage, `JOBCTL_TPU_ENDPOINT: '${address}' is not HOST:PORT`);
  return { host, port: Number(port), insecure: false };
}
