/**
 * Records docs/images/preemption.svg, the README's picture: a job is submitted, its slice is preempted, and it goes on
 * from its checkpoint. Everything in it is real but the cloud, which is the rehearsal. Needs tmux and a built checkout.
 *
 *   npx tsx scripts/record-preemption.ts
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { svgOf } from './recording/svg.js';
import { Terminal } from './recording/terminal.js';

const COLUMNS = 96;
const LONGEST_PAUSE_MS = 1200;
const root = join(import.meta.dirname, '..');
const home = mkdtempSync(join(tmpdir(), 'jobctl-recording-'));
const bin = join(home, 'bin');
mkdirSync(bin);
symlinkSync(join(root, 'dist/cli/main.js'), join(bin, 'jobctl'));
const environment = {
  PATH: `${bin}:${process.env['PATH'] ?? ''}`,
  HOME: process.env['HOME'] ?? home,
  JOBCTL_HOME: join(home, 'state'),
  PS1: '\\[\\e[32m\\]$\\[\\e[0m\\] ',
  LANG: 'C.UTF-8',
  TERM: 'tmux-256color',
};
const jobctl = (...words: readonly string[]): string =>
  execFileSync(join(bin, 'jobctl'), words, { env: environment, encoding: 'utf8' });

jobctl('dev', 'up');
const terminal = new Terminal(COLUMNS, { above: 22, below: 5 }, { ...environment, PWD: root });
try {
  await terminal.until(0, /^\$/mu);
  await terminal.type(0, 'jobctl submit --wait --name fit examples/checkpoint.yaml');
  await terminal.until(0, /step 12 of/u);
  await terminal.type(1, 'jobctl rehearsal preempt fit');
  await terminal.until(0, /succeeded in/u);
  await terminal.record(500);
} finally {
  terminal.end();
  jobctl('dev', 'down');
  rmSync(home, { recursive: true });
}
const picture = join(root, 'docs/images/preemption.svg');
mkdirSync(dirname(picture), { recursive: true });
writeFileSync(picture, svgOf(terminal.frames, COLUMNS, LONGEST_PAUSE_MS));
console.log(`${picture}: ${terminal.frames.length} frames`);
