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
  /** The key's place in the job file, and the differences. For a lost key: the reason. */
  readonly text: string;
  /** Set for a lost key whose loss does not change the job. */
  readonly passes?: true;
}

/** The rule for one key or flag of another tool. `docs/migrating.md` shows all rules (docs/adr/0064). */
export interface KeyRule {
  readonly key: string;
  /** The key of a job file that takes its value, dotted. Absent: there is no counterpart. */
  readonly to?: string;
  /** The difference, or the reason for the loss, in one sentence. */
  readonly note?: string;
  /** Converts a value that cannot go to `to` unchanged. It may return a report on this value, in place of `to` and `note`. */
  readonly put?: (value: unknown, draft: Draft) => Partial<Told> | undefined | void;
  /** `kept`: nothing is lost, although no key of a job file takes the value. */
  readonly fate?: 'kept';
  /** Set for a lost key whose loss does not change the job. */
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

/** A job file that is being made, with a report. Its texts are another tool's: `${a.b}` in them is not a reference. */
export class Draft {
  readonly told: Told[] = [];
  readonly tree: Record<string, unknown> = {};

  /** The tree as a job file writes it, with `${` escaped. */
  get written(): Mapping {
    return mapStrings(this.tree, asLiteral) as Mapping;
  }

  /** @param path dotted; missing sections are created */
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

  /** Adds the given keys by the rules. A key without a rule is reported as lost: nothing is dropped silently. */
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

/** Flags of `jobctl submit` for keys of a job file. */
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
 * @param tree the tree of a `Draft`
 * @param more further words for the line
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

/** The words of a line that needs no shell, which `submit` keeps. Any other line is one word, escaped as in a job file. */
function wordsOf(run: string): string {
  const words = splitShellWords(run);
  return words !== undefined && words.length > 1 && shellWords(words) === run ? run : shellQuote(asLiteral(run));
}

function leavesOf(tree: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (!isMapping(tree) || (path !== '' && Object.keys(tree).length === 0)) return [[path, tree]];
  return Object.entries(tree).flatMap(([key, value]) => leavesOf(value, path === '' ? key : `${path}.${key}`));
}

/** Writes a value so that `--set` reads the same value back: a text that YAML would read as another type is quoted. */
function settable(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    return parse(value) === value ? value : JSON.stringify(value);
  } catch {
    return JSON.stringify(value);
  }
}
