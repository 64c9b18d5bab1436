import { machineKind, MACHINE_KINDS } from '../../domain/machines.js';
import { ENVIRONMENT_NAMES, MODULE_NAMES } from '../../domain/modules/registry.js';

/** Lists in messages about job files, joined here from the names of all kinds and modules: a message that lacks one differs. */

const SECTIONS = MACHINE_KINDS.map((kind) => machineKind(kind).section);
export const SECTION_NAMES = SECTIONS.map(({ name }) => name);

export const LEAST_FILE = `a job file is lines of key: value; the least is ${SECTION_NAMES.map((name) => `${name}:`).join(' or ')}, and command:`;
export const NEEDED_SECTION = `a job needs the section ${SECTIONS.map(({ name, least }) => `${name}, with ${least}`).join(', or ')}`;
export const ALLOWED_MODULES = `allowed: ${MODULE_NAMES.join(', ')}`;
export const ONE_ENVIRONMENT = `keep one of ${ENVIRONMENT_NAMES.slice(0, -1).join(', ')} and ${ENVIRONMENT_NAMES.at(-1)}`;

const KEYS = [
  ...['name', 'project', 'pool', 'user', 'priority', 'slices', 'atomic', 'env', 'grace', 'retries', 'keep', 'loop'],
  ...[
    'timeouts',
    'hooks',
    'outputs',
    'max_unattended',
    'max_cost',
    'after',
    'inputs',
    'notify',
    'job',
    ...SECTION_NAMES,
    'build',
    'setup',
  ],
  ...[...MODULE_NAMES.filter((name) => name !== 'command'), 'modules', 'command', 'workspace', 'array', 'secrets'],
];
/** Every key of a job file, on lines of 102 characters at most. */
export const KNOWN_KEYS: readonly string[] = `known here: ${KEYS.join(', ')}`
  .match(/^.{1,102}(?= |$)| .{1,100}(?= |$)/g)!
  .map((line, at) => (at === 0 ? line : ` ${line}`));
