/** A scheduler of batch jobs. Lines of its scripts say what they ask for. */
export interface Scheduler {
  readonly what: string;
  /** Beginning of such a line. */
  readonly mark: RegExp;
  /** Long options by the short ones. */
  readonly long: Readonly<Record<string, string>>;
  /** Beginning of its variables. */
  readonly variables: string;
  /** Variable with the number of a job in its array. */
  readonly index: string;
}

const SLURM: Scheduler = {
  what: 'a batch script of Slurm',
  mark: /^#SBATCH[ \t]+/,
  long: pairs(
    'J=job-name t=time N=nodes n=ntasks c=cpus-per-task p=partition A=account q=qos a=array o=output e=error ' +
      'G=gpus C=constraint w=nodelist x=exclude D=chdir d=dependency',
  ),
  variables: 'SLURM_',
  index: 'SLURM_ARRAY_TASK_ID',
};
const PBS: Scheduler = {
  what: 'a batch script of PBS',
  mark: /^#PBS[ \t]+/,
  long: pairs('N=job-name o=output e=error J=array'),
  variables: 'PBS_',
  index: 'PBS_ARRAY_INDEX',
};
const GRID_ENGINE: Scheduler = {
  what: 'a batch script of Grid Engine',
  mark: /^#\$[ \t]+-/,
  long: pairs('N=job-name o=output e=error t=array'),
  variables: 'SGE_',
  index: 'SGE_TASK_ID',
};
const LSF: Scheduler = {
  what: 'a batch script of LSF',
  mark: /^#BSUB[ \t]+/,
  long: pairs('J=job-name o=output e=error'),
  variables: 'LSB_',
  index: 'LSB_JOBINDEX',
};

export const SCHEDULERS: readonly Scheduler[] = [SLURM, PBS, GRID_ENGINE, LSF];

function pairs(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(' ').map((pair) => {
      const [short = '', long = ''] = pair.split('=');
      return [short, long];
    }),
  );
}

/** Options of a script, by their long names. */
export type Directives = ReadonlyMap<string, string>;

/** Reads the options of a script: as the scheduler does, up to the first command. */
export function directivesOf(lines: readonly string[], { mark, long }: Scheduler): Directives {
  const head = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('#'));
  const asked = new Map<string, string>();
  for (const line of head === -1 ? lines : lines.slice(0, head)) {
    if (!mark.test(line)) continue;
    const text = line
      .replace(mark, (found) => (found.endsWith('-') ? '-' : ''))
      .replace(/ #.*$/, '')
      .trim();
    const at = text.search(/[= \t]/);
    const [word, value] = at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1).trim()];
    const short = word.slice(1, 2);
    const [option, own] = word.startsWith('--')
      ? [word.slice(2), value]
      : [long[short] ?? short, word.slice(2) + value];
    const before = asked.get(option);
    asked.set(option, before === undefined ? own : `${before},${own}`);
  }
  return resourcesOf(asked);
}

/** Takes the time out of the resources of PBS, `-l a=1,b=2` and `-l select=1:ngpus=1`. */
function resourcesOf(asked: Directives): Directives {
  const resources = asked.get('l') ?? '';
  const walltime = /\bwalltime=([\d:]+)/.exec(resources)?.[1];
  if (walltime === undefined) return asked;
  const others = resources.split(',').filter((one) => !one.startsWith('walltime='));
  return new Map([...asked, ['l', others.join(',')], ['time', walltime]]);
}
