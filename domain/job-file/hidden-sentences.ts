import { type TopCommand, withoutQuoted } from './shell-text.js';

/** A text of shell in a job file. */
export interface Script {
  /** `set-up`: it prepares a host, and may start services there. `check`: its exit code is the answer to a question. */
  readonly sort: 'command' | 'hook' | 'set-up' | 'check';
  /**
   * Programs of a pipe whose failure counts. `all`: pipefail is on. `last`: it is off. `inner`: it is off because the text is
   * that of `bash -c`.
   */
  readonly pipes: 'all' | 'last' | 'inner';
  /** The command has `wait_for: all`. */
  readonly waitsForAll?: boolean;
}

const remedy = 'begin the text with set -e, or join the two by &&';

export const enterSentence = ({ line }: TopCommand): string =>
  `line ${line}: if this cd fails, the next line runs all the same, in another folder; ${remedy}`;
export const lostSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this fails, the ${sort} goes on, and its exit code is that of its last line; ${remedy}`;
export const trapSentence = ({ line }: TopCommand): string =>
  `line ${line}: this trap ends each failure with exit 0; leave the exit out of it`;
export const maskedSentence = ({ line }: TopCommand): string =>
  `line ${line}: the exit code of what is in $(..) is lost: that of the command around it counts; write R=$(..) as a line of its own, and use $R in the next`;
export const waitSentence = ({ line }: TopCommand): string =>
  `line ${line}: wait without operands is always 0, though a program in the background failed; keep their numbers, ps+=($!) after each &, and write for p in \${ps[@]}; do wait $p || exit; done`;
export const backgroundSentence = ({ line }: TopCommand, { sort, waitsForAll }: Script): string =>
  waitsForAll === true
    ? `line ${line}: command.wait_for: all waits for what runs in the background, but its exit code is not known, so that its failure does not count; let the last line be wait $!`
    : `line ${line}: this runs in the background, and is ended when the ${sort}'s shell has ended; leave out the &, or let the last line be wait $!`;
export const detachedSentence = ({ line }: TopCommand): string =>
  `line ${line}: this returns at once with 0, and its program goes on in the background; run the program itself, without a terminal of tmux or screen, and without -d or -f`;
export const orSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this fails, what is behind || ends with 0, and the ${sort} has succeeded; leave it out, or end it by exit 1`;
export const ifSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this program fails, this if ends with 0 all the same, and the ${sort} has succeeded; add exit 1 to the branch of the failure`;

/** Options with which grep ends before its input does. */
const GREP_ENDS_EARLY = /^(?:-[a-zA-Z]*[qm]|--quiet|--max-count)/;
/** Programs that end with 0 whatever they read, so that a check that ends in them always passes. */
const READS_ALL = /^(?:cat|cut|head|sort|tail|tee|tr|uniq|wc)$/;

/** A sentence about the pipe that a text ends with. */
export function pipeSentence({ text, line }: TopCommand, { sort, pipes }: Script): string | undefined {
  const isPiped = /[^|]\|&?(?!\|)/.test(withoutQuoted(text));
  if (!isPiped) return undefined;
  const [program = '', ...words] = text
    .slice(text.lastIndexOf('|') + 1)
    .split(/\s+/)
    .filter((word) => word !== '');
  if (pipes !== 'all') {
    // A check that asks by a pipe ends in grep.
    if (sort === 'check' && !READS_ALL.test(program)) return undefined;
    return `line ${line}: the exit code of this pipe is that of its last program alone (${WHY_PLAIN[pipes === 'inner' ? 'inner' : sort]}); set -o pipefail counts all`;
  }
  // SIGPIPE then ends the program before it, code 141.
  const endsEarly = program === 'head' || (program === 'grep' && words.some((word) => GREP_ENDS_EARLY.test(word)));
  if (!endsEarly || sort === 'check') return undefined;
  const without = sort === 'set-up' ? 'begin the text with set +o pipefail' : 'set command.shell: plain';
  return `line ${line}: its reader may end first, which ends the program before it by SIGPIPE (code 141), and that counts as a failure; write to a file, or ${without}`;
}

const WHY_PLAIN: Readonly<Record<Script['sort'] | 'inner', string>> = {
  command: 'command.shell: plain',
  hook: 'command.shell: plain',
  'set-up': 'pipefail is off here',
  check: 'pipefail is off in a check',
  inner: 'bash -c has a shell of its own',
};
