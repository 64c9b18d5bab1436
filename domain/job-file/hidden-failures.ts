import {
  bodiesOf,
  bodyOf,
  BLOCK,
  definedBy,
  innerShell,
  isLoop,
  type Nested,
  detaches,
  isHarmless,
  isSide,
  isWork,
  takesWork,
  type Part,
  topCommands,
  type TopCommand,
  withoutQuoted,
} from './shell-text.js';

/**
 * Finds failures that the exit code of a shell text hides. The code is that of the last command, unless `set -e` is on. In a
 * block, only failures at its end are reported.
 */

const ENTERS = /^(?:cd|pushd)(?:\s|$)/;
const STOPS_AT_FAILURE = /(?:^|[\s;&])(?:set\s+(?:-\S+\s+)*-[a-zA-Z]*e|set\s.*-o\s+errexit|trap\s.*\sERR)/;
const GOES_ON = /(?:^|[\s;&])set\s+(?:\S+\s+)*(?:\+[a-zA-Z]*e|\+o\s+errexit)/;
/** Matches commands that ask a question. In a check, each of them is a part of the answer. */
const ASKS = /^(?:\[|test\s|command\s+-v\s)/;
const READS_CODE = /\$\?|\$\{?PIPESTATUS/;
/** Limit of judged texts, in characters. A longer text is a program, and would take more time than a warning is worth. */
const MOST_JUDGED = 20_000;
const MOST_DEPTH = 4;

interface Hidden {
  /** `end`: the last command hides the failure. `within`: an earlier command does. */
  readonly kind: 'end' | 'within';
  readonly text: string;
}

interface Scope {
  readonly script: Script;
  /** Number of lines above the text. */
  readonly above: number;
  readonly stops: boolean;
  readonly functions: ReadonlyMap<string, TopCommand>;
  readonly depth: number;
}

/** Returns one sentence, with its line, for each sort of hidden failure. */
export function hiddenFailures(text: string, script: Script): readonly string[] {
  if (text.length > MOST_JUDGED) return [];
  const scope = { script, above: 0, stops: false, functions: new Map(), depth: 0 };
  return [...new Set(judged(text, scope).map((hidden) => hidden.text))];
}

function judged(text: string, outer: Scope): readonly Hidden[] {
  const all = topCommands(text).map((command) => ({ ...command, line: command.line + outer.above }));
  const named = all.flatMap((command) => {
    const name = definedBy(command);
    return name === undefined ? [] : [[name, command] as const];
  });
  const commands = all.filter((command) => definedBy(command) === undefined);
  const last = commands.at(-1);
  if (last === undefined || outer.depth > MOST_DEPTH) return [];
  const scope = { ...outer, functions: new Map([...outer.functions, ...named]) };
  const setsPipefail = /set\s.*-\w*o\s+pipefail/.test(withoutQuoted(text));
  const pipe = pipeSentence(last, setsPipefail ? { ...scope.script, pipes: 'all' } : scope.script);
  const { stops, isStopped } = errexit(commands, scope.stops);
  const trapped = commands.find((each) => trapsAway(each.text, scope.functions));
  const masked = commands.find((each) => isStopped(each) && MASKS.test(each.text) && takesWork(each.text));
  const end = endHidden(commands, { ...scope, stops });
  const read = end.length > 0 ? undefined : readInVain(commands, isStopped);
  return [
    ...linesHidden(commands, isStopped, scope),
    ...(pipe === undefined ? [] : [ending(pipe)]),
    ...(trapped === undefined ? [] : [ending(trapSentence(trapped))]),
    ...(masked === undefined ? [] : [ending(maskedSentence(masked))]),
    ...end,
    ...(read === undefined ? [] : [ending(readSentence(read, scope.script))]),
  ];
}

const ending = (text: string): Hidden => ({ kind: 'end', text });

/** Whether `set -e` is on at each command (`isStopped`), and after the last one (`stops`). */
function errexit(commands: readonly TopCommand[], isOn: boolean) {
  const stopped = new Set<TopCommand>();
  let stops = isOn;
  for (const command of commands) {
    if (stops) stopped.add(command);
    const shown = withoutQuoted(command.text);
    if (STOPS_AT_FAILURE.test(shown)) stops = true;
    else if (GOES_ON.test(shown)) stops = false;
  }
  return { stops, isStopped: (command: TopCommand) => stopped.has(command) };
}

/** Hidden failures of the commands before the last one. */
function linesHidden(
  commands: readonly TopCommand[],
  isStopped: (command: TopCommand) => boolean,
  scope: Scope,
): readonly Hidden[] {
  const hidden = commands
    .slice(0, -1)
    .filter((each, at) => !isStopped(each) && !each.isOpaque && !isRead(commands[at + 1]))
    .filter((each) => !isInBackground(each, scope));
  const lastAct = commands.findLastIndex(({ text, isOpaque }) => isOpaque || !isHarmless(text));
  const isTail = (each: TopCommand): boolean => commands.indexOf(each) === lastAct || isTidied(each, commands);
  const isEntry = (each: TopCommand): boolean => ENTERS.test(each.text) && !(each.parts.length > 1 && isTail(each));
  const entered = hidden.find(isEntry);
  const acts = hidden.filter((each) => !isHarmless(each.text) && !isEntry(each));
  const isAsked = ({ text }: TopCommand): boolean => scope.script.sort === 'check' && ASKS.test(text);
  const lost = acts.find((each) => each.end === ';' || isTail(each) || isAsked(each));
  return [
    ...(entered === undefined ? [] : [{ kind: 'within', text: enterSentence(entered) } as const]),
    ...(lost === undefined
      ? []
      : [{ kind: isTail(lost) ? 'end' : 'within', text: lostSentence(lost, scope.script) } as const]),
  ];
}

const isRead = (next: TopCommand | undefined): boolean => next !== undefined && READS_CODE.test(next.text);

/** Returns whether only tidying up follows the work, such as `gsutil cp`. */
function isTidied(work: TopCommand, commands: readonly TopCommand[]): boolean {
  const rest = commands.slice(commands.indexOf(work) + 1);
  return isWork(work.text) && rest.every(({ parts }) => parts.every(({ text }) => isEasy(text)));
}

const isEasy = (text: string): boolean => isHarmless(text) || isSide(text);

const MASKS = /^(?:export|local|declare|readonly|typeset)\s/;
const TAKES = /^(?:export|local|declare|readonly|typeset|echo|printf)\s/;

const ENDS_WELL = /(?:^|[\s;&{])exit\s+0[\s;}'"]*$/;
const TRAP = /^trap\s+(?:--\s+)?('[^']*'|"[^"]*"|[\w-]+)\s+(?:\w+\s+)*(?:EXIT|0)(?:\s|$)/;

function trapsAway(text: string, functions: ReadonlyMap<string, TopCommand>): boolean {
  const action = TRAP.exec(text)?.[1];
  return action !== undefined && (ENDS_WELL.test(action) || ENDS_WELL.test(functions.get(action)?.text ?? ''));
}

// The end of the text ------------------------------------------------------------------------------------------------

function endHidden(commands: readonly TopCommand[], scope: Scope): readonly Hidden[] {
  let wait: TopCommand | undefined;
  const acts = commands.filter(({ text, isOpaque }) => isOpaque || !isHarmless(text));
  for (const command of commands.toReversed()) {
    const { text, isOpaque } = command;
    const isWait = /^wait\s*(?:&&|$)/.test(text);
    if (isWait) wait ??= command;
    if (!isWait && (/^wait\s/.test(text) || READS_CODE.test(text))) return [];
    if (!isOpaque && isHarmless(text)) {
      if (TAKES.test(text) && takesWork(text)) return [ending(maskedSentence(command))];
      continue;
    }
    if (!isInBackground(command, scope)) return actHidden(command, scope, acts.length === 1);
    if (wait !== undefined) return [ending(waitSentence(wait))];
    return scope.script.sort === 'set-up' ? [] : [ending(backgroundSentence(command, scope.script))];
  }
  return [];
}

const isInBackground = ({ text, end, spawns }: TopCommand, { functions }: Scope): boolean =>
  end === '&' || (spawns && !/(?:^|[\s;&])wait(?:[\s;]|$)/.test(text)) || isSpawning(functions.get(text.trim()));
const isSpawning = (called: TopCommand | undefined): boolean =>
  called?.spawns === true && !/(?:^|[\s;&])wait(?:[\s;]|$)/.test(called.text);

/** Hidden failures of the last command that matters, if it runs in the foreground. */
function actHidden(command: TopCommand, scope: Scope, isSole: boolean): readonly Hidden[] {
  const { text, parts } = command;
  const part = parts.at(-1);
  if (part === undefined) return [];
  // A set-up may start a service.
  if (detaches(part.text)) return scope.script.sort === 'set-up' ? [] : [ending(detachedSentence(command))];
  const isWorth = isSole && scope.script.sort === 'command' && !parts.every((each) => isEasy(each.text));
  const counts = (each: Part): boolean => scope.script.sort === 'check' || isWork(each.text);
  if (part.join === '||' && endsWell(part.text) && (isWorth || parts.some(counts)))
    return [ending(orSentence(command, scope.script))];
  if (/^if\s/.test(text) && ifHidden(command, scope.script)) return [ending(ifSentence(command, scope.script))];
  const inBlock = bodiesOf(command).flatMap((body) =>
    nested(command, body, scope).filter(({ kind }) => kind === 'end'),
  );
  if (inBlock.length > 0) return inBlock.slice(0, 1);
  if (isLoop(text) && turnsHidden(command, scope)) return [ending(turnSentence(command))];
  if (BLOCK.test(text)) return [];
  if (parts.length > 1) return [];
  const inner = innerShell(text);
  if (inner !== undefined) {
    if (inner.isEval) return nested(command, inner, scope).filter(({ kind }) => kind === 'end');
    const script = { ...scope.script, pipes: inner.hasPipefail ? ('all' as const) : ('inner' as const) };
    const own = { ...scope, script, stops: inner.stops, functions: new Map() };
    return nested(command, inner, own).filter(({ kind }) => kind === 'end');
  }
  const called = scope.functions.get(/^[\w-]+/.exec(text)?.[0] ?? '');
  const body = bodyOf(called ?? command);
  return body === undefined ? [] : nested(called ?? command, body, scope);
}

const nested = ({ line }: TopCommand, { before, body }: Nested, scope: Scope): readonly Hidden[] =>
  judged(body, { ...scope, above: line - 1 + before.split('\n').length - 1, depth: scope.depth + 1 });

/** Returns whether the exit code of a text is 0 in any case. */
function endsWell(text: string): boolean {
  const body = /^[{(]([^]*)[})]$/.exec(text)?.[1];
  const commands = topCommands(body ?? text);
  return (
    commands.length > 0 && commands.every((each) => !each.isOpaque && isHarmless(each.text) && !takesWork(each.text))
  );
}

/** Returns whether an `if` tests the exit code of work, but itself ends with 0 if the work fails. */
function ifHidden({ text, marks }: TopCommand, { sort }: Script): boolean {
  const [then, otherwise] = marks;
  if (then?.word !== 'then' || marks.some(({ word }) => word === 'elif')) return false;
  const asked = text.slice(2, then.at).replace(/;\s*$/, '').trim();
  const isNot = /^!\s/.test(asked);
  const [condition] = topCommands(asked.replace(/^!\s+/, ''));
  if (condition === undefined || condition.isOpaque || !(sort === 'check' || isWork(condition.text))) return false;
  const end = otherwise?.at ?? text.length;
  const yes = text.slice(then.at + 4, end);
  const no = otherwise?.word === 'else' ? text.slice(end + 4, marks.at(-1)?.at) : '';
  const [failed, succeeded] = isNot ? [yes, no] : [no, yes];
  return (failed.trim() === '' || endsWell(failed)) && (succeeded.trim() === '' || isNot || endsWell(succeeded));
}

/** Returns whether the body of a loop ends with one program of work, so that only the last turn decides the exit code. */
function turnsHidden(command: TopCommand, { stops }: Scope): boolean {
  const [body] = bodiesOf(command);
  if (stops || body === undefined || !/^for\s/.test(command.text)) return false;
  const commands = topCommands(body.body);
  const last = commands.at(-1);
  if (last === undefined || commands.some(({ text }) => STOPS_AT_FAILURE.test(text) || READS_CODE.test(text)))
    return false;
  return last.end !== '&' && !last.isOpaque && last.parts.length === 1 && isWork(last.text) && !detaches(last.text);
}

/** The work whose exit code is read behind it without effect, because all that follows ends with 0. */
function readInVain(
  commands: readonly TopCommand[],
  isStopped: (command: TopCommand) => boolean,
): TopCommand | undefined {
  const at = commands.findLastIndex((each) => isKept(each) || (isWork(each.text) && !each.isOpaque));
  const work = commands[at];
  if (work === undefined || work.end === '&') return undefined;
  const rest = commands.slice(at + 1);
  const isOwn = isKept(work);
  if (!isOwn && (isStopped(work) || work.parts.length > 1 || !isRead(rest[0]))) return undefined;
  if (commands.some(({ text }) => /^trap\s.*\s(?:EXIT|ERR|0)\b/.test(text))) return undefined;
  return rest.every(endsWithZero) ? work : undefined;
}

/** Returns whether it is of the form `python3 train.py || RC=$?`, which goes on under set -e too. */
const isKept = ({ parts }: TopCommand): boolean => {
  const [work, kept, ...more] = parts;
  return (
    work !== undefined && isWork(work.text) && more.length === 0 && kept?.join === '||' && /^\w+=\$\?$/.test(kept.text)
  );
};

function endsWithZero(command: TopCommand): boolean {
  const { text, isOpaque } = command;
  if (/^if\s/.test(text)) return bodiesOf(command).every(({ body }) => endsWell(body));
  return !isOpaque && isHarmless(text) && !/^wait\s+\S/.test(text) && !takesWork(text);
}

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

const enterSentence = ({ line }: TopCommand): string =>
  `line ${line}: if this cd fails, the next line runs all the same, in another folder; ${remedy}`;
const lostSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this fails, the ${sort} goes on, and its exit code is that of its last line; ${remedy}`;
const trapSentence = ({ line }: TopCommand): string =>
  `line ${line}: this trap ends each failure with exit 0; leave the exit out of it`;
const maskedSentence = ({ line }: TopCommand): string =>
  `line ${line}: the exit code of what is in $(..) is lost: that of the command around it counts; write R=$(..) as a line of its own, and use $R in the next`;
const waitSentence = ({ line }: TopCommand): string =>
  `line ${line}: wait without operands is always 0, though a program in the background failed; keep their numbers, ps+=($!) after each &, and write for p in \${ps[@]}; do wait $p || exit; done`;
const backgroundSentence = ({ line }: TopCommand, { sort, waitsForAll }: Script): string =>
  waitsForAll === true
    ? `line ${line}: command.wait_for: all waits for what runs in the background, but its exit code is not known, so that its failure does not count; let the last line be wait $!`
    : `line ${line}: this runs in the background, and is ended when the ${sort}'s shell has ended; leave out the &, or let the last line be wait $!`;
const detachedSentence = ({ line }: TopCommand): string =>
  `line ${line}: this returns at once with 0, and its program goes on in the background; run the program itself, without a terminal of tmux or screen, and without -d or -f`;
const orSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this fails, what is behind || ends with 0, and the ${sort} has succeeded; leave it out, or end it by exit 1`;
const turnSentence = ({ line }: TopCommand): string =>
  `line ${line}: if this fails in a turn of the loop that is not the last, the loop goes on, and its exit code is that of the last; write || exit behind the program`;
const readSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: the exit code of this is read, but what follows ends with 0, and the ${sort} has succeeded; keep it (rc=$?), and end with exit $rc`;
const ifSentence = ({ line }: TopCommand, { sort }: Script): string =>
  `line ${line}: if this program fails, this if ends with 0 all the same, and the ${sort} has succeeded; add exit 1 to the branch of the failure`;

/** Options with which grep ends before its input does. */
const GREP_ENDS_EARLY = /^(?:-[a-zA-Z]*[qm]|--quiet|--max-count)/;
/** Programs that end with 0 whatever they read, so that a check that ends in them always passes. */
const READS_ALL = /^(?:cat|cut|head|sort|tail|tee|tr|uniq|wc)$/;

/** A sentence about the pipe that a text ends with. */
function pipeSentence({ text, line }: TopCommand, { sort, pipes }: Script): string | undefined {
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
