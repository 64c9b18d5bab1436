import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordedCloud } from './adapter-reading.js';
import { type Difference, differences } from './compare.js';
import { expectedReading } from './expected-reading.js';
import { callOf, type RecordedCall, type RecordedFile } from './recorded-call.js';
import { RehearsedStory } from './rehearsed-answer.js';

/** What the adapter made of an answer, and what was expected. */
export interface Reading {
  readonly file: string;
  readonly expected: string;
  readonly read: string;
}

export interface Replayed {
  readonly calls: number;
  readonly wrongReadings: readonly Reading[];
  readonly differences: readonly (Difference & { readonly file: string })[];
}

/**
 * Each recording against our adapter, then against the rehearsal. Those that jobctl wrote are one story, told in order to one rehearsal;
 * each published example is its own.
 */
export async function replay(files: readonly RecordedFile[]): Promise<Replayed> {
  const calls = files.flatMap((file) => callOf(file) ?? []);
  return { calls: calls.length, wrongReadings: await wrongReadings(calls), differences: await rehearsed(calls) };
}

async function wrongReadings(calls: readonly RecordedCall[]): Promise<readonly Reading[]> {
  const cloud = new RecordedCloud();
  await cloud.start();
  try {
    const found: Reading[] = [];
    for (const call of calls) {
      const read = await cloud.reading(call);
      if (read === undefined) continue;
      const expected = call.file.reads ?? expectedReading(call);
      const isRight =
        read.startsWith(expectedReading(call)) && (call.file.reads === undefined || read === call.file.reads);
      if (!isRight) found.push({ file: call.file.name, expected, read });
    }
    return found;
  } finally {
    await cloud.stop();
  }
}

async function rehearsed(calls: readonly RecordedCall[]): Promise<Replayed['differences']> {
  const folder = mkdtempSync(join(tmpdir(), 'recordings-replay-'));
  try {
    const found: (Difference & { readonly file: string })[] = [];
    let number = 0;
    const newStory = (): RehearsedStory => new RehearsedStory(mkdtempSync(join(folder, `${(number += 1)}-`)));
    const own = newStory();
    for (const call of calls) {
      const story = call.file.sources === undefined ? own : newStory();
      const rows = differences(call, await story.answer(call));
      found.push(...rows.map((row) => ({ ...row, file: call.file.name })));
    }
    return found;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
