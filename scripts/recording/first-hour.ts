import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Frame, Terminal } from './terminal.js';

/** The possessions of a person who has never used jobctl: a home, and the file that `npm pack` made. */
export interface Newcomer {
  /** An empty folder, or one with caches of downloads alone. */
  readonly home: string;
  /** Path of jobctl's packed file, from the home. */
  readonly tarball: string;
  /** The registry that npm asks for packages; `prefix` is the folder of packages that are installed globally. */
  readonly registry: string;
  readonly prefix: string;
}

/** A training program that knows nothing of jobctl. It writes its result into a folder beside itself. */
const PROGRAM = `import json, os, random, time

random.seed(7)
os.makedirs('out', exist_ok=True)
loss = 2.5
for step in range(1, 9):
    loss *= 0.8 + 0.1 * random.random()
    print(f'step {step} of 8, loss {loss:.3f}')
    time.sleep(0.5)
with open('out/model.json', 'w') as file:
    json.dump({'steps': step, 'loss': round(loss, 3)}, file)
print('saved out/model.json')
`;
const ROWS = 24;
const LEAST_FRAME_MS = 150;
/** The last line is the prompt alone: the command has ended. */
const PROMPT = /(?:^|\n)\$\s*$/u;
/** Time limits. They are long, because other programs may run beside the recording. */
const INSTALL_MS = 300_000;
const FIRST_JOB_MS = 900_000;

/** A finished recording of the first hour. */
export interface Shown {
  readonly terminal: Terminal;
  /** The commands that were typed. After the installation, each was read from the output of the one before. */
  readonly typed: readonly string[];
  /** Everything that was on the screen, as plain text. */
  readonly text: string;
}

/**
 * Types the five commands from the installation to the result, in a terminal of `columns` columns. Commands after `init` are read
 * from the screen, as a newcomer would read them.
 * @throws Error with the terminal's text, if a command does not end, or does not say what comes next
 */
export async function typeFirstHour(columns: number, newcomer: Newcomer): Promise<Shown> {
  const { home, prefix, registry, tarball } = newcomer;
  const folder = join(home, 'my-model');
  mkdirSync(folder);
  writeFileSync(join(folder, 'train.py'), PROGRAM);
  const terminal = new Terminal(columns, { above: ROWS }, environmentOf(home, prefix, registry));
  try {
    const typed: string[] = [];
    const type = async (command: string, forMs: number): Promise<string> => {
      typed.push(command);
      const before = terminal.text(0).length;
      await terminal.type(0, command);
      // The prompt at which the command was typed does not count.
      await terminal.until(0, /\n\s*$/u);
      await terminal.until(0, PROMPT, forMs);
      await terminal.record(1_000);
      return terminal.text(0).slice(before);
    };
    await terminal.until(0, PROMPT);
    await type(`npm install --global ./${tarball}`, INSTALL_MS);
    await type('cd my-model', INSTALL_MS);
    typed.push('jobctl init');
    await terminal.type(0, 'jobctl init');
    for (const question of [/Command .*\]\s*$/u, /Type .*\]\s*$/u, /Zone .*\]\s*$/u]) {
      await terminal.until(0, question);
      await terminal.type(0, '');
    }
    await terminal.until(0, PROMPT);
    await terminal.record(1_000);
    const submitted = await type(
      nextIn(terminal.text(0), /^ +(jobctl submit --local .*?)(?: {2,}.*)?$/mu),
      FIRST_JOB_MS,
    );
    await type(nextIn(submitted, /^ +results: +(jobctl download \S+)/mu), INSTALL_MS);
    return { terminal, typed, text: terminal.text(0) };
  } catch (error) {
    terminal.end();
    throw error;
  }
}

/** Drops frames that are replaced faster than anybody can read, so that pictures stay small. */
export function filmOf(frames: readonly Frame[]): readonly Frame[] {
  return frames.filter(({ at }, index) => (frames[index + 1]?.at ?? Infinity) - at >= LEAST_FRAME_MS);
}

function nextIn(text: string, line: RegExp): string {
  const found = line.exec(text)?.[1];
  if (found === undefined) throw new Error(`no line says what comes next (${String(line)}):\n${text}`);
  return found;
}

function environmentOf(home: string, prefix: string, registry: string): Record<string, string> {
  return {
    PATH: `${prefix}/bin:${process.env['PATH'] ?? ''}`,
    HOME: home,
    PWD: home,
    PS1: '\\[\\e[32m\\]$\\[\\e[0m\\] ',
    LANG: 'C.UTF-8',
    TERM: 'tmux-256color',
    npm_config_registry: registry,
    npm_config_prefix: prefix,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
}
