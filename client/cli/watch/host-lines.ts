/** A line longer than this is given in parts. */
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Cuts the output of several hosts into whole lines, each under its host's number. Works on bytes: a character that lies
 * across two stretches stays whole. Of a line that was drawn again and again (`\r`, progress bars) the last state is given.
 */
export class HostLines {
  readonly #bar: string;
  readonly #begun = new Map<number, Buffer>();
  #hostDigits = 1;

  /** @param bar between the host's number and its line */
  constructor(bar: string) {
    this.#bar = bar;
  }

  /** The lines that these bytes complete. */
  add(host: number, bytes: Buffer): readonly Buffer[] {
    this.#hostDigits = Math.max(this.#hostDigits, String(host).length);
    let rest = this.#begun.has(host) ? Buffer.concat([this.#begun.get(host) as Buffer, bytes]) : bytes;
    const lines: Buffer[] = [];
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      lines.push(this.#line(host, rest.subarray(0, end)));
      rest = rest.subarray(end + 1);
    }
    if (rest.length > MAX_LINE_BYTES) {
      lines.push(this.#line(host, rest));
      rest = Buffer.alloc(0);
    }
    this.#begun.set(host, rest);
    return lines;
  }

  /** The last lines, which no newline ended. */
  end(): readonly Buffer[] {
    const lines = [...this.#begun].flatMap(([host, rest]) => (rest.length > 0 ? [this.#line(host, rest)] : []));
    this.#begun.clear();
    return lines;
  }

  #line(host: number, line: Buffer): Buffer {
    const prefix = `${String(host).padStart(this.#hostDigits)} ${this.#bar} `;
    return Buffer.concat([Buffer.from(prefix), lastState(line), Buffer.of(NEWLINE)]);
  }
}

function lastState(line: Buffer): Buffer {
  const end = line.at(-1) === RETURN ? line.length - 1 : line.length;
  const from = line.subarray(0, end).lastIndexOf(RETURN);
  return line.subarray(from + 1, end);
}
