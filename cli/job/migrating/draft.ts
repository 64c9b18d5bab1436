import { isMapping } from '../../../domain/job-file/plain-tree.js';
import { showValue } from '../../../domain/problem.js';

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

/** A job file in the making, and the account of it. */
export class Draft {
  readonly told: Told[] = [];
  readonly tree: Record<string, unknown> = {};

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

/** `${section.key}` in another tool's command is that tool's or the shell's, not a reference of a job file. */
export const literalRun = (text: string): string => text.replace(/(?<!\\)\$\{(?=[^}]*\.)/g, () => '\\${');
