import { asLiteral } from '../../../domain/job-file/interpolation.js';
import { isMapping, type Mapping, mapStrings } from '../../../domain/job-file/plain-tree.js';
import { showValue } from '../../../domain/problem.js';
import { parse } from 'yaml';
import { shellWords, shellQuote, splitShellWords } from '../../../domain/shell-quote.js';
import { typedCommand } from '../../terminal/print.js';

/** The fate of one key or flag of another tool. */
export interface Told {
  /** The key as the user wrote it: `--max_tries=10`, `metadata.priority`. */
  readonly key: string;
  readonly fate: 'kept' | 'changed' | 'lost';
  /** Its place in the job file and the differences; for a lost key the reason. */
  readonly text: string;
  /** Set for a lost key without which the job is the same. */
  readonly passes?: true;
}

/** One key or flag of another tool and what jobctl makes of it. `docs/migrating.md` shows all of them (docs/adr/0064). */
export interface KeyRule {
  readonly key: string;
  /** The key of a job file that takes its value, dotted. Absent: there is no counterpart. */
  readonly to?: string;
  /** The difference, or the reason for the loss: one sentence. */
  readonly note?: string;
  /** Puts a value that does not go to `to` as it is. It may return what to tell of this value instead of `to` and `note`. */
  readonly put?: (value: unknown, draft: Draft) => Partial<Told> | undefined | void;
  /** `kept`: nothing is lost although no key takes it. */
  readonly fate?: 'kept';
  /** Set for a lost key without which the job is the same. */
  readonly passes?: true;
  /** A flag that takes no value. */
  readonly isSwitch?: true;
}

/** A key with the value that a user gave it. */
export interface GivenKey {
  readonly key: string;
  readonly value: unknown;
  /** The key as the report shows it. Absent: the key itself. */
  readonly shown?: string;
}

/** A job file in the making, and the account of it. Its texts are the other tool's: `${a.b}` in them is no reference of a job file. */
export class Draft {
  readonly told: Told[] = [];
  readonly tree: Record<string, unknown> = {};

  /** The tree as a job file says it. */
  get written(): Mapping {
    return mapStrings(this.tree, asLiteral) as Mapping;
  }

  /** @param path dotted; sections on the way are made */
  set(path: string, value: unknown): void {
    const keys = path.split('.');
    const last = keys.pop() ?? path;
    let section = this.tree;
    for (const key of keys) {
      const below = section[key];
      if (isMapping(below)) section = below;
      else section = section[key] = {};
    }
    section[last] = value;
  }

  get(path: string): unknown {
    return path.split('.').reduce<unknown>((at, key) => (isMapping(at) ? at[key] : undefined), this.tree);
  }

  tell(key: string, fate: Told['fate'], text: string, passes?: true): void {
    this.told.push({ key, fate, text, ...(passes && { passes }) });
  }

  /** Puts what was given by the rules. A key without a rule is told as lost: nothing vanishes in silence. */
  take(rules: readonly KeyRule[], given: readonly GivenKey[], tool: string): void {
    for (const each of given) {
      const rule = rules.find(({ key }) => key === each.key);
      const shown = each.shown ?? each.key;
      if (rule === undefined) this.tell(shown, 'lost', `jobctl does not know this key of ${tool}`);
      else this.#takeOne(rule, each.value, shown);
    }
  }

  #takeOne({ to, note, put, fate: usual, passes }: KeyRule, value: unknown, shown: string): void {
    const own = put?.(value, this) ?? {};
    if (put === undefined && to !== undefined) this.set(to, value);
    const place = to === undefined ? undefined : placeOf(to, this.get(to));
    const text = own.text ?? [place, note].filter((part) => part !== undefined).join(': ');
    const fate = own.fate ?? usual ?? (to === undefined ? 'lost' : note === undefined ? 'kept' : 'changed');
    this.tell(shown, fate, text, own.passes ?? passes);
  }
}

const placeOf = (to: string, value: unknown): string => (value === undefined ? to : `${to} = ${showValue(value)}`);

/** Keys of a job file that have a flag of `jobctl submit`. */
const FLAGS: Readonly<Record<string, string>> = {
  'tpu.accelerator': '--tpu',
  'tpu.zone': '--zone',
  'tpu.pricing': '--pricing',
  slices: '--slices',
  project: '--project',
  user: '--user',
  priority: '--priority',
  'bundle.dir': '--bundle',
};

/**
 * The command line that submits a job without its file, ready to paste.
 * @param tree of a `Draft`
 * @param more further words of the line
 */
export function submitLine(tree: Readonly<Record<string, unknown>>, more: readonly string[] = []): string {
  const leaves = leavesOf(tree).filter(([path]) => path !== 'command.run');
  const flags = leaves.flatMap(([path, raw]) => {
    const value = mapStrings(raw, asLiteral);
    const flag = FLAGS[path];
    return flag === undefined ? ['--set', `${path}=${settable(value)}`] : [flag, String(value)];
  });
  const { run } = (tree['command'] ?? {}) as { readonly run?: string };
  const command = run === undefined ? [] : ['--', wordsOf(run)];
  return [typedCommand(), 'submit', shellWords([...flags, ...more]), ...command].filter(Boolean).join(' ');
}

/** Words of a line that needs no shell, which `submit` keeps as they are; else the line as one word, as a job file would say it. */
function wordsOf(run: string): string {
  const words = splitShellWords(run);
  return words !== undefined && words.length > 1 && shellWords(words) === run ? run : shellQuote(asLiteral(run));
}

function leavesOf(tree: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (!isMapping(tree) || (path !== '' && Object.keys(tree).length === 0)) return [[path, tree]];
  return Object.entries(tree).flatMap(([key, value]) => leavesOf(value, path === '' ? key : `${path}.${key}`));
}

/** Writes a value so that `--set` reads it back: a text that YAML would take for something else is quoted. */
function settable(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    return parse(value) === value ? value : JSON.stringify(value);
  } catch {
    return JSON.stringify(value);
  }
}
