import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commandsOf } from './commands.js';

/** What stands below one heading of the second level. */
export interface PageStep {
  readonly title: string;
  /** Of its blocks marked `sh`, in order. */
  readonly commands: readonly string[];
  /** The text of its other blocks, by their mark. */
  blocks(language: string): readonly string[];
}

/** The text of a page's blocks with this mark. */
export const blocksIn = (text: string, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gmu'))].map(([, block = '']) => block);

/** The steps of a page that leads through something. */
export function stepsOf(root: string, page: string): readonly PageStep[] {
  const lines = readFileSync(join(root, page), 'utf8').split('\n');
  const starts = lines.flatMap((line, index) => (line.startsWith('## ') ? [index] : []));
  const commands = commandsOf(root, page);
  return starts.map((start, at) => {
    const end = starts[at + 1] ?? lines.length;
    const text = lines.slice(start, end).join('\n');
    return {
      title: lines[start]?.slice(3) ?? '',
      commands: commands.filter(({ line }) => line > start && line <= end).map((one) => one.text),
      blocks: (language) => blocksIn(text, language),
    };
  });
}
