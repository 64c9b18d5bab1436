/** Judges single programs of a shell text: which do the work of a job, and which return before their work is done. */

/** Commands whose failure does not matter. */
const HARMLESS =
  /^(?:[A-Za-z_]\w*\+?=\S*\s*$|exit\s+0\s*$|(?::|alias|date|declare|df|disown|echo|env\s*$|export|free|hostname|id|jobs|local|ls|nvidia-smi|printf|ps|pwd|readonly|set|shopt|sleep|sync|time\s*$|touch|trap|true|typeset|ulimit|umask|uname|unset|wait|whoami)(?:\s|$))/;

export const isHarmless = (text: string): boolean => HARMLESS.test(text);

/** Programs that tidy up behind the work, or carry its results away. */
const SIDE = new Set(
  'aws chmod cp gcloud gsutil gzip kill killall mkdir mv pkill rclone rm rmdir rsync tar zip'.split(' '),
);

/** Words before a program, and their options and durations: `timeout -k 5 1h`. */
const BEFORE =
  /^(?:time|exec|nohup|sudo|env|nice|ionice|stdbuf|numactl|timeout|command|setsid|-\S+|\d+[smhd]?|\w+=.*)$/;

function programOf(text: string): readonly string[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const first = words.findIndex((word) => !BEFORE.test(word));
  return first === -1 ? [] : words.slice(first);
}

export const isSide = (text: string): boolean => SIDE.has(programOf(text)[0] ?? '');

const RUNNERS = /^(?:accelerate|deepspeed|horovodrun|mpiexec|mpirun|srun|torchrun)$/;

/** Returns whether a program surely is work, not a check or tidying up. */
export function isWork(text: string): boolean {
  const [program = '', first = ''] = programOf(text);
  if (/^(?:\S*\/)?python[\d.]*$/.test(program)) return first !== '' && !/^(?:-V|--version)$/.test(first);
  if (/^(?:bash|sh|zsh)$/.test(program)) return first.endsWith('.sh');
  if (/^(?:conda|micromamba|poetry|uv)$/.test(program)) return first === 'run';
  return RUNNERS.test(program) || /^(?:\.{1,2}\/|\S+\.(?:py|sh)$)/.test(program);
}

/** Returns whether the text takes the output of work: `echo $(python3 train.py)`. A one-liner of `python3 -c` is none. */
export function takesWork(text: string): boolean {
  const taken = text
    .replaceAll(/'[^']*'/g, '_')
    .split(/\$\((?!\()|`/)
    .slice(1);
  return taken.some((inner) => isWork(inner) && !/^\S*python\S*\s+(?:-\S+\s+)*-c/.test(programOf(inner).join(' ')));
}

/** Returns whether a program returns at once, with 0, and another one goes on in the background. */
export function detaches(text: string): boolean {
  const words = programOf(text.replace(/^setsid\s/, 'SETSID '));
  const [program = '', ...rest] = words;
  switch (program) {
    case 'SETSID':
      return rest[0] === '--fork' || /^-[a-z]*f/.test(rest[0] ?? '');
    case 'tmux':
      if (/\s(?:send|send-keys)\s/.test(text)) return true;
      return (
        /^tmux\s+(?:-[LSf]\s+\S+\s+)*(?:new|new-session)\s/.test(text) && rest.some((word) => /^-[A-Z]*d/.test(word))
      );
    case 'screen':
      return rest.some((word) => /^-\w*dm/.test(word)) || (rest.includes('-d') && rest.includes('-m'));
    case 'daemonize':
      return true;
    case 'docker':
    case 'podman':
    case 'nerdctl':
      return rest[0] === 'run'
        ? detachOptions(rest.slice(1)).length > 0
        : /^(?:compose up|start) .*-d\b/.test(rest.join(' '));
    default:
      return false;
  }
}

/** Options of `docker run` without a value. */
const FLAG =
  /^(?:--(?:rm|init|privileged|read-only|interactive|tty|publish-all|no-healthcheck|quiet)|-[itPq]+|--[\w-]+=.*|-[evwupmh]\S+)$/;
const DETACH = /^(?:--detach(?:=true)?|-[itPq]*d[itPq]*)$/;

/**
 * Returns the positions of `-d` among the options of `docker run`, which end at its image: options behind that are its program's.
 * @param words those behind `run`
 */
export function detachOptions(words: readonly string[]): readonly number[] {
  const found: number[] = [];
  for (let at = 0; words[at]?.startsWith('-') === true; at += 1) {
    if (DETACH.test(words[at] ?? '')) found.push(at);
    else if (!FLAG.test(words[at] ?? '')) at += 1;
  }
  return found;
}
