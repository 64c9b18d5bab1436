import { shellWords, splitShellWords } from '../../shell-quote.js';
import { detachOptions } from '../shell-programs.js';

export interface Foreground {
  /** The command with its program in the foreground; undefined if the line does not say which program that is. */
  readonly text: string | undefined;
  readonly note: string;
}

const ENDS_WITH_JOB = 'what the line leaves in the background is the command here: a job ends with it';
const TO_FILE = 'its output goes to a file of the host: without `> FILE` `jobctl logs JOB` has it';
/** Lines that follow a program in the background and do nothing for it. */
const IDLE = /^(echo|sleep|exit|disown|true|jobs|ps)\b/;
const IN_BACKGROUND = /(?<![&|>])&[ \t]*(?:disown(?:[ \t]+\S+)?)?$/;

/** Brings to the front a program that a command leaves in the background, where a job would end it. Undefined for another command. */
export function inForeground(command: string): Foreground | undefined {
  const lines = command.trim().split('\n');
  if (lines.some((line) => /(^|[;&|(] *)(tmux|screen) /.test(line))) return ofTerminal(lines);
  const last = lines.findLastIndex((line) => !IDLE.test(line.trim()));
  const [before, line = ''] = [lines.slice(0, Math.max(last, 0)), lines[last]?.trim()];
  if (IN_BACKGROUND.test(line)) {
    const front = line.replace(IN_BACKGROUND, '').replaceAll(/(^|[ ;&|(])(?:nohup|setsid) +/g, '$1');
    const isToFile = /(^|[ \w])>{1,2} *(?!\/dev\/null)[\w./$~{]/.test(front);
    return {
      text: [...before, front.trim()].join('\n'),
      note: isToFile ? `${ENDS_WITH_JOB}; ${TO_FILE}` : ENDS_WITH_JOB,
    };
  }
  const attached = withoutDetach(line);
  return attached === line ? undefined : { text: [...before, attached].join('\n'), note: ENDS_WITH_JOB };
}

/** Takes `-d` from `docker run`. */
function withoutDetach(line: string): string {
  const words = line.split(' ');
  const run = words.findIndex((word, at) => word === 'run' && words[at - 1] === 'docker');
  if (run === -1) return line;
  const detaching = new Set(detachOptions(words.slice(run + 1)).map((at) => run + 1 + at));
  return words.filter((_, at) => !detaching.has(at)).join(' ');
}

const WITH_VALUE = /^-\w*[snctxyeFSTh]$/;

/** Reads `tmux new -d -s NAME 'COMMAND'` and `screen -dmS NAME COMMAND`, the last part of a command of one line. */
function ofTerminal(lines: readonly string[]): Foreground {
  const [line = '', ...more] = lines;
  const at = line.search(/(?:tmux|screen) /);
  const [program, ...rest] = splitShellWords(line.slice(at)) ?? [];
  const isNew = program === 'screen' || rest[0] === 'new' || rest[0] === 'new-session';
  const words = program === 'tmux' ? rest.slice(1) : rest;
  let next = 0;
  while (words[next]?.startsWith('-') === true) next += WITH_VALUE.test(words[next] ?? '') ? 2 : 1;
  const own = words.slice(next);
  const isOne = isNew && more.length === 0 && own.length > 0 && !own.some((word) => /^(&&|\|\||;|\||&)$|;$/.test(word));
  if (!isOne)
    return { text: undefined, note: `${ENDS_WITH_JOB}: write the program that is to run in ${program ?? ''}` };
  const run = own.length === 1 ? (own[0] ?? '') : shellWords(own);
  return { text: `${line.slice(0, at)}${run}`, note: ENDS_WITH_JOB };
}
