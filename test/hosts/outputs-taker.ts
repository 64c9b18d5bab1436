import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { OutputsTaker, RunOutputs, Taken } from '../../cloud/hosts/port.js';
import type { FileSource } from '../../domain/local-files.js';
import { type OutputsManifest, readManifest } from '../../domain/stored-outputs.js';

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** What a worker has taken. */
export class OutputsInMemory implements OutputsTaker {
  readonly contents = new Map<string, Buffer>();
  readonly manifests: OutputsManifest[] = [];
  /** What is answered, in place of taking it. */
  answer: (what: FileSource | 'manifest') => Taken | undefined = () => undefined;

  inTurn<T>(take: () => Promise<T>): Promise<T> {
    return take();
  }

  async content(source: FileSource): Promise<Taken> {
    const answer = this.answer(source);
    if (answer !== undefined) return answer;
    const chunks: Buffer[] = [];
    for await (const chunk of source.read(0)) chunks.push(chunk);
    const content = Buffer.concat(chunks);
    if (sha256(content) !== source.sha256) return { kind: 'changed' };
    this.contents.set(source.sha256, content);
    return { kind: 'stored' };
  }

  async manifest(content: Buffer): Promise<Taken> {
    const answer = this.answer('manifest');
    if (answer !== undefined) return answer;
    const manifest = readManifest(content);
    for (const entry of manifest.entries)
      if (entry.kind === 'file') assert.ok(this.contents.has(entry.sha256), `${entry.path} is there before its list`);
    this.manifests.push(manifest);
    return { kind: 'stored' };
  }

  /** Path and content of the last round. */
  get files(): Record<string, string> {
    const entries = this.manifests.at(-1)?.entries ?? [];
    return Object.fromEntries(
      entries.flatMap((entry) =>
        entry.kind === 'file' ? [[entry.path, String(this.contents.get(entry.sha256))] as const] : [],
      ),
    );
  }
}

/** Of a host that hands them to its worker. */
export const outputsByWorker = (patterns: readonly string[], more: Partial<RunOutputs> = {}): RunOutputs => ({
  ...{ contentUrl: 'https://no.such.store/SHA256', manifestUrl: 'https://no.such.store/manifest', as: 'worker' },
  ...{ place: 'gs://jobs/jobs/j/outputs/', everyMs: 600_000, folder: '~/.jobctl/outputs/j', base: '~', patterns },
  ...{ isWholeOnly: false, host: 0, ...more },
});
