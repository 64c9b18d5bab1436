import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CELLS = fileURLToPath(new URL('./sqlite-cells.py', import.meta.url));

/** All that a SQLite database holds: its files as they are on disk, and every cell by SQLite's own reader. */
export async function contentOf(file: string): Promise<Buffer> {
  const files = [file, `${file}-wal`].filter((path) => existsSync(path)).map((path) => readFileSync(path));
  const options = { encoding: 'buffer', maxBuffer: 1 << 30 } as const;
  const { stdout } = await promisify(execFile)('python3', [CELLS, file], options);
  assert.ok(stdout.length > 100_000, 'the reader saw the database');
  return Buffer.concat([...files, stdout]);
}
