import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

export interface Frame {
  /** Milliseconds since the recording began. */
  readonly at: number;
  /** Lines with SGR codes. */
  readonly lines: readonly string[];
}

export interface Rows {
  readonly above: number;
  /** Rows of a second shell below the first; absent: there is one shell. */
  readonly below?: number;
}

/** Lines that a pane keeps after they have scrolled off the screen. */
const HISTORY = 20_000;

/** One shell, or two of them one above the other, in a separate tmux server. Each change of the screen is recorded. */
export class Terminal {
  readonly frames: Frame[] = [];
  /** Recorded lines, typed ones included, that were wider than the terminal and so were broken by it. */
  readonly broken = new Set<string>();
  readonly #socket: string;
  readonly #columns: number;
  readonly #isSplit: boolean;

  /** @param environment of the shells; `PATH` decides which jobctl they run, and `PWD` is where they begin */
  constructor(columns: number, { above, below }: Rows, environment: Readonly<Record<string, string>>) {
    this.#columns = columns;
    this.#isSplit = below !== undefined;
    this.#socket = `jobctl-recording-${process.pid}-${columns}`;
    const words = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
    const folder = ['-c', environment['PWD'] ?? process.cwd()];
    const shell = [...folder, 'env', '-i', ...words, 'bash', '--norc', '--noprofile'];
    const size = ['-x', String(columns), '-y', String(below === undefined ? above : above + below + 1)];
    const kept = ['set', '-g', 'history-limit', String(HISTORY), ';'];
    this.#tmux('-f', '/dev/null', 'start-server', ';', ...kept, 'new-session', '-d', ...size, ...shell);
    this.#tmux('set', '-g', 'status', 'off');
    if (below !== undefined) this.#tmux('split-window', '-v', '-l', String(below), ...shell);
  }

  /** Types like a person, then presses Enter. */
  async type(pane: 0 | 1, text: string): Promise<void> {
    for (const key of text) {
      this.#tmux('send-keys', '-t', `:.${pane}`, '-l', key);
      await this.record(40);
    }
    this.#tmux('send-keys', '-t', `:.${pane}`, 'Enter');
  }

  /** @throws Error with what the panes show, if `seen` does not match within `withinMs` */
  async until(pane: 0 | 1, seen: RegExp, withinMs = 120_000): Promise<void> {
    const end = Date.now() + withinMs;
    const text = (): string => stripVTControlCharacters(this.#shown(pane).join('\n'));
    while (!seen.test(text())) {
      if (Date.now() > end) throw new Error(`${String(seen)} was not seen within ${withinMs} ms:\n${text()}`);
      await this.record(100);
    }
  }

  /** Records for `forMs` milliseconds. */
  async record(forMs: number): Promise<void> {
    const end = Date.now() + forMs;
    do {
      this.#keep();
      await pause(Math.min(100, Math.max(0, end - Date.now())));
    } while (Date.now() < end);
  }

  /** All text that a pane has shown, also what has scrolled off its screen. Lines that the terminal broke are joined again. */
  text(pane: 0 | 1): string {
    return this.#tmux('capture-pane', '-p', '-J', '-S', '-', '-t', `:.${pane}`).replaceAll(/ +$/gmu, '').trimEnd();
  }

  end(): void {
    this.#tmux('kill-server');
  }

  #keep(): void {
    const above = this.#shown(0);
    const edge = `\u001B[90m${'─'.repeat(this.#columns)}\u001B[0m`;
    const lines = this.#isSplit ? [...above, edge, ...this.#shown(1)] : above;
    if (lines.join('\n') === this.frames.at(-1)?.lines.join('\n')) return;
    this.frames.push({ at: Date.now(), lines });
    for (const line of this.#shown(0, '-J')) {
      const text = stripVTControlCharacters(line).trimEnd();
      if (text.length > this.#columns) this.broken.add(text);
    }
  }

  #shown(pane: 0 | 1, ...more: readonly string[]): string[] {
    return this.#tmux('capture-pane', '-e', '-p', ...more, '-t', `:.${pane}`)
      .replace(/\n$/u, '')
      .split('\n');
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...words], { encoding: 'utf8' });
  }
}
