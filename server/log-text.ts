import type { LogStretch } from '../client/job-logs.js';

/** A longer line is split, because a line without an end is searched again with each piece. */
const MOST_LINE_BYTES = 65_536;

/**
 * Formats the lines of several hosts as text, each with its host in front, as `jobctl logs` prints them. An unfinished line waits
 * for its end or for `rest`.
 */
export class HostLines {
  readonly #open = new Map<number, string>();

  push({ host, bytes, isLostTail }: LogStretch): string {
    const text = (this.#open.get(host) ?? '') + bytes.toString('latin1');
    const ended = text.lastIndexOf('\n') + 1;
    const end = isLostTail === true || text.length - ended > MOST_LINE_BYTES ? text.length : ended;
    this.#open.set(host, text.slice(end));
    return prefixed(host, text.slice(0, end));
  }

  rest(): string {
    const lines = [...this.#open].toSorted(([a], [b]) => a - b).map(([host, text]) => prefixed(host, text));
    this.#open.clear();
    return lines.join('');
  }
}

/** latin1 keeps the bytes: it holds each as one character. */
function prefixed(host: number, text: string): string {
  if (text === '') return '';
  const lines = text.endsWith('\n') ? text.slice(0, -1) : text;
  const mark = `${host} | `;
  return `${mark}${lines.replaceAll('\n', `\n${mark}`)}\n`;
}
