import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import type { Exchange, OnExchange } from '../../../cloud/exchange.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { writePrivate } from '../../terminal/file-on-disk.js';
import { fileErrorWords } from '../../../domain/errors.js';
import { scrubbed } from './scrub.js';
import type * as Connection from '../../../cloud/machines/cloud-tpu/tpu-connection.js';
import { TpuApi } from '../../../cloud/machines/cloud-tpu/tpu-api.js';
import { loadFrom } from '../../place/packages.js';

/** One exchange as a file, in the format that docs/doctor.md documents and `test/cloud/recordings` replays. */
export interface Recording extends Exchange {
  readonly format: 1;
  /** The purpose of the exchange, such as `listings of one zone`. */
  readonly about: string;
  readonly origin: string;
  /** UTC. */
  readonly at: string;
}

/**
 * Collects exchanges on the wire and writes them, scrubbed, to one file each. An exchange equal to the last one of its method and
 * resource is left out, so that repeated looks at one state make one file.
 */
export class Recorder {
  readonly #folder: string;
  readonly #origin: string;
  readonly #heard: { readonly exchange: Exchange; readonly about: string; readonly at: string }[] = [];
  /** The last answer, by method and request. */
  readonly #last = new Map<string, string>();
  #about = '';

  /** @throws CliError if the folder cannot be made, or has recordings already */
  constructor(folder: string, origin: string) {
    this.#folder = folder;
    this.#origin = origin;
    makeEmpty(folder);
  }

  readonly hear: OnExchange = (exchange) => {
    const { method, request, code, answer } = exchange;
    const asked = JSON.stringify([method, request]);
    const said = JSON.stringify([code, answer]);
    if (this.#last.get(asked) === said) return;
    this.#last.set(asked, said);
    this.#heard.push({ exchange, about: this.#about, at: new Date().toISOString() });
  };

  /** Sets the subject of the exchanges that follow. */
  about(text: string): void {
    this.#about = text;
  }

  /**
   * Writes all exchanges again, because a name that was learned since may appear in an earlier answer.
   * @param project the id of the project that was asked
   * @returns the number of files
   */
  write(project: string): number {
    const files = scrubbed(
      this.#heard.map(({ exchange }) => exchange),
      project,
    );
    files.forEach((exchange, index) => {
      const { about = '', at = '' } = this.#heard[index] ?? {};
      const recording: Recording = { format: 1, about, origin: this.#origin, at, ...exchange };
      writePrivate(join(this.#folder, fileName(index, exchange)), `${JSON.stringify(recording, undefined, 2)}\n`);
    });
    return files.length;
  }
}

/** `007-get-queued-resource-0.json`: number, method, code. */
function fileName(index: number, { method, code }: Exchange): string {
  const [first = '', service = '', path = ''] = method.split(' ');
  const rest = path.replace(/\?.*/, '').split('/').at(-1) ?? '';
  const words = path === '' ? (first.split('/').at(-1) ?? '') : `${first} ${service} ${rest}`;
  const slug = words
    .replace(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return `${String(index + 1).padStart(3, '0')}-${slug}-${code}.json`;
}

const IS_RECORDING = /^\d{3}-[a-z0-9-]+\.json$/;

function makeEmpty(folder: string): void {
  try {
    makeFolderSync(folder, 0o700);
    if (!readdirSync(folder).some((name) => IS_RECORDING.test(name))) return;
  } catch (error) {
    throw new CliError(
      ExitCode.Usage,
      `--record ${folder}: ${fileErrorWords(error)}`,
      'name a folder that you may write',
    );
  }
  throw new CliError(ExitCode.Usage, `--record ${folder}: has recordings already`, 'name a new or an empty folder');
}

/** A worker's client for Cloud TPU. Each exchange is reported. */
interface RecordedTpu {
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
