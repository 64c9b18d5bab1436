import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJobFile } from '../../cli/job/job-file.js';
import { makeKeyPair } from '../hosts/ssh-host.js';
import { storedLog } from './stored-log.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import type { TestStack } from './test-stack.js';
import { withStack } from './with-stack.js';

/** Job files of JobMan's users as they stand on a disk, beside the files that they name, and what their jobs print. */
export class JobmanFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'jobman-test-'));
  readonly #stack: TestStack;

  constructor(stack: TestStack) {
    this.#stack = stack;
    const pair = makeKeyPair();
    this.write('key', pair.private, 0o600);
    this.write('key.pub', pair.public);
  }

  write(name: string, content: string, mode = 0o644): void {
    writeFileSync(join(this.path, name), content, { mode });
  }

  /** KEY is a key file, BUCKET the stack's bucket. @returns the job's id */
  async submit(text: string): Promise<string> {
    const key = join(this.path, 'key');
    this.write('job.yaml', text.replaceAll('KEY', key).replaceAll('BUCKET', this.#stack.store.bucket));
    const { raw, files } = await readJobFile(join(this.path, 'job.yaml'), { set: [] });
    return (await this.#stack.jobs.submit({ job: raw, files, user: 'alice' })).id;
  }

  logOf(id: string, stream: string, host: number, attempt = 1): Promise<string> {
    return storedLog(this.#stack.store, { id, stream, host, attempt });
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}

/**
 * Hooks of a `describe`: a stack of its own and a folder on it. Where VMs cannot be confined its tests are skipped.
 * @param use gets both when they are there
 */
export function withJobmanFolder(use: (stack: TestStack, folder: JobmanFolder) => void | Promise<void>): void {
  let folder: JobmanFolder | undefined;
  before(function () {
    needsConfinement(this);
  });
  withStack(async (stack) => {
    folder = new JobmanFolder(stack);
    await use(stack, folder);
  });
  after(() => folder?.remove());
}
