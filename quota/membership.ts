import { RE2JS } from 're2js';
import { messageOf } from '../domain/errors.js';
import { nearestWord } from '../domain/nearest-word.js';
import { isOneOf, type Subject, type AccessObject, type AccessRole, type Readers } from '../domain/access.js';
import { findProject, isSameProject, NO_PROJECT, type QuotaConfig, type QuotaProject } from './quota-config.js';

/**
 * The source of user names. `trusted`: users name themselves. `verified`: an issuer names them, and a server has checked the
 * names (docs/adr/0087, docs/adr/0105).
 */
export type NamesMode = 'trusted' | 'verified';

/**
 * The longest pattern, in characters, and the largest compiled pattern, in instructions. A list of names is many patterns, not
 * one.
 */
const MOST_CHARACTERS = 1000;
const MOST_INSTRUCTIONS = 10_000;

/**
 * Says why `pattern` cannot be a pattern of names; undefined if it can. The syntax is RE2: Python's (?i) and (?P<name>..) work.
 * Look-around and backreferences do not, since they need backtracking.
 */
export function patternProblem(pattern: string): string | undefined {
  if (pattern === '') return 'it is empty, and nobody is called so';
  if (pattern.length > MOST_CHARACTERS) return `it has ${pattern.length} characters; ${MOST_CHARACTERS} are the most`;
  try {
    // Matching takes time linear in the user id, times this size. Nested counts make a short pattern large.
    const size = RE2JS.compile(pattern).programSize();
    return size <= MOST_INSTRUCTIONS ? undefined : 'its repeats, multiplied out, are too large';
  } catch (error) {
    return messageOf(error);
  }
}

/** Letters of any script, digits and . _ - + @: a reader takes such text for a name. */
const PLAIN_NAME = /^[\p{L}\p{M}\p{N}._+@-]+$/u;

interface Compiled {
  readonly names: ReadonlySet<string>;
  readonly patterns: readonly RE2JS[];
}

/** Compiled once per reading of a file: 2,000 patterns take 70 ms, and every submitted job is checked. */
const compiled: Readonly<Record<NamesMode, WeakMap<readonly string[], Compiled>>> = {
  trusted: new WeakMap(),
  verified: new WeakMap(),
};

/**
 * Returns whether one of `patterns` matches the whole of `user`, in time linear in its length. Every list of name patterns is
 * matched here. In verified mode a plain name matches itself, byte for byte, and is not a pattern: `j.doe@example.org` would also
 * match `jxdoe@example.org` (docs/adr/0105).
 */
function isNamedIn(patterns: readonly string[], user: string, mode: NamesMode): boolean {
  const known = compiled[mode].get(patterns) ?? compile(patterns, mode);
  compiled[mode].set(patterns, known);
  return known.names.has(user) || known.patterns.some((pattern) => pattern.matches(user));
}

function compile(patterns: readonly string[], mode: NamesMode): Compiled {
  const isName = (pattern: string): boolean => mode === 'verified' && PLAIN_NAME.test(pattern);
  return {
    names: new Set(patterns.filter(isName)),
    patterns: patterns.filter((pattern) => !isName(pattern)).map((pattern) => RE2JS.compile(pattern)),
  };
}

/**
 * Puts a backslash before each dot that stands for any one character: not in a class, not escaped, not repeated. One pass, since
 * a regular expression for classes would begin anew at every bracket.
 */
function withDotsEscaped(pattern: string): string {
  const out: string[] = [];
  /** Index at which the open class began; -1 outside a class. */
  let open = -1;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const isLoose = character === '.' && open === -1 && !'*+?{'.includes(pattern.charAt(at + 1) || ' ');
    out.push(isLoose ? String.raw`\.` : character);
    if (character === '\\') out.push(pattern.charAt((at += 1)));
    else if (open === -1 && character === '[') open = at;
    // A bracket right after the beginning of a class belongs to the class.
    else if (character === ']' && !/^\[\^?$/.test(pattern.slice(Math.max(open, at - 2), at))) open = -1;
  }
  return out.join('');
}

interface LooseName {
  /** Says what else the entry matches, such as `jxdoe@example.org`. */
  readonly message: string;
  /** The spelling that matches only the intended name, as TOML. */
  readonly hint: string;
}

/**
 * Says why an entry matches names that a reader does not expect; undefined if it matches none.
 * @param known names of users, to show which of them are matched by accident
 */
export function looseName(entry: string, known: readonly string[] = []): LooseName | undefined {
  const isPlain = PLAIN_NAME.test(entry);
  const strict = isPlain ? entry.replaceAll(/[.+]/gu, String.raw`\$&`) : withDotsEscaped(entry);
  const [local = ''] = entry.split('@', 1);
  if (isPlain ? !/[.+]/u.test(local) : strict === entry || !entry.includes('@')) return undefined;
  const [loosely, strictly] = [RE2JS.compile(entry), RE2JS.compile(strict)];
  const others = known.filter((name) => loosely.matches(name) && !strictly.matches(name));
  const also = others.length === 0 ? '' : `, here ${others.slice(0, MOST_SHOWN).join(', ')}`;
  const where = isPlain ? ' in trusted mode, and the very name in verified mode' : '';
  const loose =
    isPlain && local.includes('+') ? 'a + repeats what stands before it' : 'a dot without a backslash is any character';
  return { message: `it is a pattern${where}: ${loose}${also}`, hint: `write '${strict}' (in single quotes)` };
}

const MOST_SHOWN = 5;

/** Returns whether one of the project's patterns matches the whole user id. Linear in the length of `user`. */
export const isMember = (project: QuotaProject, user: string, mode: NamesMode): boolean =>
  isNamedIn(project.members, user, mode);

type ProjectChoice =
  | { readonly ok: true; /** The name as the quota file writes it. */ readonly project: string }
  | { readonly ok: false; readonly message: string; readonly hint?: string };

/** A user who asks for a project. */
interface Asker {
  readonly user: string;
  /** The name as the user wrote it. */
  readonly project?: string | undefined;
  /** In mode `verified`, a project's name means nothing without a quota file that lists its members (docs/adr/0087). */
  readonly mode: NamesMode;
}

/**
 * The quota project of a job: the named one, if `user` is a member of it; else the only one that `user` is a member of; else
 * `none` (no nominal quota, best effort), unless the pool requires a project. Called at submit and when a quota file is applied,
 * never in a decision.
 */
export function resolveProject(config: QuotaConfig, { user, project, mode }: Asker): ProjectChoice {
  if (config.kind === 'unlimited') return mode === 'trusted' ? anyProject(project) : withoutMembers(project);
  const own = config.projects.filter((candidate) => isMember(candidate, user, mode)).map(({ name }) => name);
  if (project !== undefined) return checkNamed(config, user, project, own);
  const [first, second] = own;
  if (first === undefined) return asNobody(config, user);
  if (second === undefined) return { ok: true, project: first };
  return {
    ok: false,
    message: `project: '${user}' is a member of several projects: ${own.join(', ')}`,
    hint: 'name one with --project, or project: in the job file',
  };
}

const anyProject = (project = NO_PROJECT): ProjectChoice => ({ ok: true, project });

/** A project gives its members secrets, quota and floors. Without a file that lists members, no user may name a project. */
function withoutMembers(project = NO_PROJECT): ProjectChoice {
  if (isSameProject(project, NO_PROJECT)) return { ok: true, project: NO_PROJECT };
  return {
    ok: false,
    message: `project: the pool has no quota file, so '${project}' has no members`,
    hint: `leave project out, or ask an operator for a quota file of the pool that names ${project} and you`,
  };
}

/** The choice for a user of no project: best effort on units that others leave, unless the pool requires a project. */
function asNobody(config: QuotaConfig, user: string): ProjectChoice {
  if (config.kind === 'unlimited' || config.rules?.requireProject !== true) return { ok: true, project: NO_PROJECT };
  const { admins } = config.rules;
  return {
    ok: false,
    message: `project: the pool takes no job without a project, and '${user}' has named none that is theirs`,
    hint:
      admins.length === 0 ? 'ask for a membership in the quota file' : `ask ${admins.join(' or ')} for a membership`,
  };
}

function checkNamed(config: QuotaConfig, user: string, name: string, own: readonly string[]): ProjectChoice {
  const found = findProject(config, name);
  if (found !== undefined && own.some((candidate) => isSameProject(candidate, name))) {
    return { ok: true, project: found.name };
  }
  if (found === undefined && isSameProject(name, NO_PROJECT)) return asNobody(config, user);
  const choices =
    own.length === 0
      ? `leave project out to run in ${NO_PROJECT}, best effort`
      : `'${user}' may use: ${own.join(', ')}`;
  if (found !== undefined) {
    const why = found.members.length === 0 ? 'it has no members' : 'not a member';
    return { ok: false, message: `project: '${user}' may not submit to '${found.name}': ${why}`, hint: choices };
  }
  const known = config.kind === 'limited' ? config.projects.map((candidate) => candidate.name) : [];
  const nearest = nearestWord(name, own.length > 0 ? own : known);
  const hint = nearest === undefined ? choices : `did you mean ${nearest}?\n${choices}`;
  return { ok: false, message: `project: '${name}' is not in the quota file`, hint };
}

/** A service that submits for people. */
export interface ServiceRule {
  /** Id of the subject; a `service`. */
  readonly subject: string;
  /** Users that it may submit for: names, or RE2 patterns that match the whole id. */
  readonly submitFor: readonly string[];
}

/** `[access]` of a pool file. */
export interface AccessRules {
  /** Principals. */
  readonly operators: readonly string[];
  /** Principals by project; keys are in lower case. */
  readonly projectAdmins: Readonly<Record<string, readonly string[]>>;
  readonly services: readonly ServiceRule[];
  readonly readers: Readers;
}

/** The rules of a file without `[access]`: there are no operators or admins, and no service submits for others. */
export const NO_ACCESS_RULES: AccessRules = { operators: [], projectAdmins: {}, services: [], readers: 'project' };

/**
 * Every role of `subject` towards `object` under the files in force. A service owns what it submitted in its own name. `member`
 * means membership by the quota file, and only in a project that the file names.
 */
export function rolesOf(
  subject: Subject,
  object: AccessObject,
  files: { readonly rules: AccessRules; readonly config: QuotaConfig },
): readonly AccessRole[] {
  const { owner, project } = object;
  const { rules, config } = files;
  const entry = project === undefined ? undefined : findProject(config, project);
  const admins = project === undefined ? [] : (rules.projectAdmins[project.toLowerCase()] ?? []);
  const roles: readonly (readonly [AccessRole, boolean])[] = [
    ['owner', owner !== undefined && owner === subject.id],
    ['service', owner !== undefined && owner !== subject.id && maySubmitFor(subject, owner, rules)],
    ['member', entry !== undefined && isMember(entry, subject.id, 'verified')],
    ['admin', isOneOf(subject, admins)],
    ['operator', isOneOf(subject, rules.operators)],
    ['authenticated', true],
  ];
  return roles.flatMap(([role, isTrue]) => (isTrue ? [role] : []));
}

/** Returns whether a service may start a job that counts as `user`'s. A person may submit only in their own name. */
export function maySubmitFor(subject: Subject, user: string, { services }: AccessRules): boolean {
  if (subject.kind !== 'service') return false;
  const own = services.filter((service) => service.subject === subject.id);
  return own.some(({ submitFor }) => isNamedIn(submitFor, user, 'verified'));
}
