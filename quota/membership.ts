import { nearestWord } from '../domain/nearest-word.js';
import { findProject, isSameProject, NO_PROJECT } from './quota-config.js';
import { isNamedIn, type NamesMode } from './name-pattern.js';
import type { QuotaConfig, QuotaProject } from './quota-config.js';

/** Returns whether one of the project's patterns matches the whole user id. Linear in the length of `user`. */
export const isMember = (project: QuotaProject, user: string, mode: NamesMode): boolean =>
  isNamedIn(project.members, user, mode);

export type ProjectChoice =
  | { readonly ok: true; /** The name as the quota file writes it. */ readonly project: string }
  | { readonly ok: false; readonly message: string; readonly hint?: string };

/** A user who asks for a project. */
export interface Asker {
  readonly user: string;
  /** The name as the user wrote it. */
  readonly project?: string | undefined;
  /** In `verified`, a project's name means nothing without a quota file that lists its members (docs/adr/0087). */
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

/** A project's name gives its secrets, quota and floors, so no user gets the name without a file that makes them a member. */
function withoutMembers(project = NO_PROJECT): ProjectChoice {
  if (isSameProject(project, NO_PROJECT)) return { ok: true, project: NO_PROJECT };
  return {
    ok: false,
    message: `project: the pool has no quota file, so '${project}' has no members`,
    hint: `leave project out, or ask an operator for a quota file of the pool that names ${project} and you`,
  };
}

/** Best effort on units that others leave, unless the pool requires a project. */
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
