import { splitShellWords } from '../../shell-quote.js';

/** A scheduler of batch jobs. Lines of its scripts hold options for it. */
export interface Scheduler {
  readonly tool: string;
  /** Matches the beginning of a line with options. */
  readonly mark: RegExp;
  /** This scheduler's names of options -> the common names, if they differ. */
  readonly names: Readonly<Record<string, string>>;
  /** Options that take no value, or take one only behind `=`. */
  readonly switches: ReadonlySet<string>;
  /** Long options have two dashes. A short option is one letter, directly before its value if it has one: `-N2`. */
  readonly hasLongOptions: boolean;
  /** Prefix of its environment variables. */
  readonly variables: string;
  /** Variable with the number of a job in its array. */
  readonly index: string;
}

const SLURM: Scheduler = {
  tool: 'Slurm',
  mark: /^#SBATCH[ \t]+/,
  names: pairs(
    'J=job-name t=time N=nodes n=ntasks c=cpus-per-task p=partition A=account q=qos a=array o=output e=error i=input ' +
      'G=gpus C=constraint w=nodelist F=nodelist x=exclude D=chdir d=dependency b=begin B=extra-node-info H=hold ' +
      'k=no-kill L=licenses M=clusters m=distribution O=overcommit Q=quiet s=oversubscribe S=core-spec v=verbose W=wait',
  ),
  switches: words(
    'H k O Q s v W hold no-kill overcommit quiet oversubscribe verbose wait exclusive requeue no-requeue contiguous ' +
      'parsable spread-job use-min-nodes ignore-pbs reboot test-only get-user-env nice share',
  ),
  hasLongOptions: true,
  variables: 'SLURM_',
  index: 'SLURM_ARRAY_TASK_ID',
};
const PBS: Scheduler = {
  tool: 'PBS',
  mark: /^#PBS[ \t]+/,
  names: pairs(
    'N=job-name o=output e=error J=array t=array q=partition P=account A=account j=output k=output m=mail-type ' +
      'M=mail-user V=export v=export W=dependency a=begin p=nice h=hold r=requeue S=shell d=chdir w=chdir c=checkpoint',
  ),
  switches: words('V h z I X f'),
  hasLongOptions: true,
  variables: 'PBS_',
  index: 'PBS_ARRAY_INDEX',
};
const GRID_ENGINE: Scheduler = {
  tool: 'Grid Engine',
  mark: /^#\$[ \t]+(?=-)/,
  names: pairs(
    'N=job-name o=output e=error t=array tc=array q=partition P=account A=account j=output m=mail-type M=mail-user ' +
      'V=export v=export hold_jid=dependency hold_jid_ad=dependency a=begin p=nice h=hold r=requeue S=shell wd=chdir cwd=chdir',
  ),
  switches: words('V h cwd notify terse clear verify soft hard'),
  hasLongOptions: false,
  variables: 'SGE_',
  index: 'SGE_TASK_ID',
};
const LSF: Scheduler = {
  tool: 'LSF',
  mark: /^#BSUB[ \t]+/,
  names: pairs(
    'J=job-name o=output e=error oo=output eo=error W=time q=partition P=account G=account N=mail-type B=mail-type ' +
      'u=mail-user env=export w=dependency b=begin sp=nice H=hold r=requeue L=shell cwd=chdir m=nodelist x=exclusive',
  ),
  switches: words('B N H x r K I Is XF'),
  hasLongOptions: false,
  variables: 'LSB_',
  index: 'LSB_JOBINDEX',
};

export const SCHEDULERS: readonly Scheduler[] = [SLURM, PBS, GRID_ENGINE, LSF];

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}
function pairs(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split(' ').map((pair) => pair.split('=') as [string, string]));
}

/** An option of a script. */
export interface Directive {
  /** Its common name, `nodes` for `-N` of Slurm. */
  readonly name: string;
  readonly value: string;
  /** The option as the script has it. */
  readonly shown: string;
}

/** Reads the options of a script: as the scheduler does, up to the first command. */
export function directivesOf(lines: readonly string[], scheduler: Scheduler): readonly Directive[] {
  const { mark } = scheduler;
  const head = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('#'));
  const marked = (head === -1 ? lines : lines.slice(0, head)).filter((line) => mark.test(line));
  const texts = marked.map((line) => line.replace(mark, '').trimEnd());
  // Options behind this word are of hosts of another sort.
  const others = texts.findIndex((text) => OTHER_HOSTS.test(text));
  const own = others === -1 ? texts : texts.slice(0, others + 1);
  return own.flatMap((text) => optionsOf(wordsOf(text), scheduler));
}

const OTHER_HOSTS = /^(het|pack)job\b/;

/** The words of a line without the comment behind them. */
function wordsOf(line: string): readonly string[] {
  const at = line.search(/[ \t]#/);
  const text = at === -1 || splitShellWords(line.slice(0, at)) === undefined ? line : line.slice(0, at);
  return splitShellWords(text) ?? text.split(/[ \t]+/).filter(Boolean);
}

function optionsOf(line: readonly string[], scheduler: Scheduler): readonly Directive[] {
  const found: Directive[] = [];
  for (let at = 0; at < line.length; at++) {
    const word = line[at] ?? '';
    const { option, attached } = splitOption(word, scheduler);
    const next = line[at + 1] ?? '-';
    const takesNext = option !== '' && attached === undefined && !scheduler.switches.has(option) && !isOption(next);
    if (takesNext) at++;
    // The only option with two values: `-pe mpi 8` of Grid Engine.
    const second = takesNext && option === 'pe' && /^[\d-]+$/.test(line[at + 1] ?? '') ? ` ${line[++at] ?? ''}` : '';
    const value = takesNext ? next + second : (attached ?? '');
    const name = option === '' ? word : (scheduler.names[option] ?? option);
    found.push({ name, value, shown: takesNext ? `${word} ${value}` : word });
  }
  return found;
}

const isOption = (word: string): boolean => /^-[A-Za-z-]/.test(word);

/** The name of an option, and the value if it is in the same word. The name is empty if the word is not an option. */
function splitOption(
  word: string,
  { hasLongOptions }: Scheduler,
): { readonly option: string; readonly attached?: string } {
  if (!isOption(word)) return { option: '' };
  const isLong = word.startsWith('--');
  if (hasLongOptions && !isLong) {
    const attached = word.slice(2);
    return { option: word.slice(1, 2), ...(attached !== '' && { attached }) };
  }
  const [name = '', ...value] = word.slice(isLong ? 2 : 1).split('=');
  return { option: name, ...(value.length > 0 && { attached: value.join('=') }) };
}
