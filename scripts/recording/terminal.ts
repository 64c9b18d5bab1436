import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';

export interface Frame {
  /** Milliseconds since the recording began. */
  readonly at: number;
  /** Lines with SGR codes. */
  readonly lines: readonly string[];
}

/** Two shells, one above the other, in a tmux server of their own; what they show is recorded whenever it changes. */
export class Terminal {
  readonly frames: Frame[] = [];
  readonly #socket = `jobctl-recording-${process.pid}`;
  readonly #columns: number;

  /** @param environment of both shells; `PATH` says which jobctl they run */
  constructor(
    columns: number,
    rows: { readonly above: number; readonly below: number },
    environment: Record<string, string>,
  ) {
    this.#columns = columns;
    const shell = [
      'env',
      '-i',
      ...Object.entries(environment).map(([key, value]) => `${key}=${value}`),
      'bash',
      '--norc',
      '--noprofile',
    ];
    this.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      String(columns),
      '-y',
      String(rows.above + rows.below + 1),
      ...shell,
    );
    this.#tmux('set', '-g', 'status', 'off');
    this.#tmux('split-window', '-v', '-l', String(rows.below), ...shell);
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

  /** Records for so many milliseconds. */
  async record(forMs: number): Promise<void> {
    const end = Date.now() + forMs;
    do {
      this.#keep();
      await pause(Math.min(100, Math.max(0, end - Date.now())));
    } while (Date.now() < end);
  }

  end(): void {
    this.#tmux('kill-server');
  }

  #keep(): void {
    const lines = [...this.#shown(0), `\u001B[90m${'─'.repeat(this.#columns)}\u001B[0m`, ...this.#shown(1)];
    if (lines.join('\n') !== this.frames.at(-1)?.lines.join('\n')) this.frames.push({ at: Date.now(), lines });
  }

  #shown(pane: 0 | 1): string[] {
    return this.#tmux('capture-pane', '-e', '-p', '-t', `:.${pane}`).replace(/\n$/u, '').split('\n');
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...words], { encoding: 'utf8' });
  }
}
