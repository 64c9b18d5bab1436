import { chmodSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '../../../cloud/folders.js';
import { fileErrorWords } from '../../../domain/errors.js';
import { modeForOthers } from '../../../domain/secrets.js';
import { nearestWord } from '../../../domain/nearest-word.js';
import { formatProblems, type Problem, showValue } from '../../../domain/problem.js';
import { located, readToml, TomlPositions } from '../../../quota/files/toml-text.js';
import { addressProblem } from '../../../client/http/server-options.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type Environment, xdgFolder } from '../../terminal/home.js';
import { notWritten } from '../../terminal/file-on-disk.js';
import { type Setting, type SettingKey, type Settings, SETTINGS } from '../../terminal/settings.js';
import { parseTOML, type AST } from 'toml-eslint-parser';

/** Content of contexts.toml. */
export interface Contexts {
  readonly file: string;
  /** The file's text; empty if there is no file. */
  readonly text: string;
  /** The context that `jobctl context use` chose. */
  readonly current?: string;
  readonly byName: ReadonlyMap<string, Settings>;
}

/** The local stack of JOBCTL_HOME, which needs no entry in the file. */
export const LOCAL_CONTEXT = 'local';
const NAMES_SERVER = 'server = "https://HOST", or address = "HOST:PORT" of Temporal';
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const NAME_RULE = 'a name: letters, digits, - and _, 63 at most, and a letter or digit first';

/** `jobctl/contexts.toml` in the XDG configuration folder. */
export function contextsFile(env: Environment): string {
  return join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'jobctl', 'contexts.toml');
}

/** @throws CliError (Usage) listing every problem of the file with line and column; an absent file has no contexts */
export function readContexts(env: Environment): Contexts {
  const file = contextsFile(env);
  const text = textOf(file);
  return text === undefined ? { file, text: '', byName: new Map() } : parseContexts(text, file);
}

/** @throws CliError (Usage) */
export function parseContexts(text: string, file: string): Contexts {
  const positions = new TomlPositions(text);
  const toml = readToml(text, positions);
  if (!toml.ok) throw wrong([{ ...toml.problem, file }]);
  const reading = new Reading();
  const contexts = reading.whole(toml.value);
  if (reading.problems.length > 0) throw wrong(located(reading.problems, file, positions));
  refuseOpenFile(file, contexts.byName);
  return { file, text, ...contexts };
}

/** Replaces the file in one step; readable and writable by its owner only. @throws CliError if the text is invalid */
export function writeContexts(file: string, text: string): void {
  const scratch = `${file}.${process.pid}`;
  makeFolderSync(dirname(file), 0o700);
  try {
    writeFileSync(scratch, text, { mode: 0o600 });
    chmodSync(scratch, 0o600);
    parseContexts(text, scratch);
    renameSync(scratch, file);
  } catch (error) {
    throw error instanceof CliError ? error : notWritten(error, file, text);
  } finally {
    rmSync(scratch, { force: true });
  }
}

/** @throws CliError (Usage) if the name may not be given to a context */
export function checkName(name: string): void {
  if (name === LOCAL_CONTEXT)
    throw new CliError(ExitCode.Usage, `context ${name}: the name is that of the local stack`, 'choose another name');
  if (!NAME.test(name)) throw new CliError(ExitCode.Usage, `context ${showValue(name)}: is not ${NAME_RULE}`);
}

/** The error for a name that no context has. @param whence source of the name, such as `--context` */
export function unknownContext({ byName, file }: Contexts, name: string, whence: string): CliError {
  const names = [...byName.keys()];
  const nearest = nearestWord(name, [...names, LOCAL_CONTEXT]);
  return new CliError(
    ExitCode.Usage,
    `${whence}: there is no context ${showValue(name)} in ${file}`,
    ...(nearest === undefined ? [] : [`the nearest is ${nearest}`]),
    names.length === 0 ? 'there are no contexts yet' : `there are: ${[...names, LOCAL_CONTEXT].join(', ')}`,
    `to make it: jobctl context set ${NAME.test(name) ? name : 'NAME'} --server URL, or --temporal-address HOST:PORT`,
  );
}

/** Returns the problem of one value, or undefined. `api_key` is never repeated: it may be the key itself. */
export function problemOf(
  setting: Setting,
  value: string,
): { readonly message: string; readonly hint?: string } | undefined {
  if (value === '') return { message: 'is empty', hint: 'leave it out' };
  if (setting.kind === 'boolean' && value !== 'true')
    return { message: `${showValue(value)} is not true`, hint: 'true, or leave it out' };
  if (setting.kind === 'file' && !value.startsWith('/'))
    return { message: `${showValue(value)} is not an absolute path`, hint: 'contexts hold from every folder' };
  if (setting.kind === 'reference' && !/^(file:\/\/\/.|env:[A-Za-z_]\w*$)/.test(value))
    return {
      message: 'is no reference to a key',
      hint: 'wanted file:///PATH or env:NAME; the key itself does not belong into the file',
    };
  if (setting.key === 'address' && !/^[^\s/]+:\d{1,5}$/.test(value))
    return { message: `${showValue(value)} is not HOST:PORT`, hint: 'such as temporal.example.com:7233' };
  const problem = setting.key === 'server' ? addressProblem(value) : undefined;
  if (problem !== undefined)
    return { message: `${showValue(value)} ${problem}`, hint: 'such as https://jobctl.example.com' };
  return undefined;
}

class Reading {
  readonly problems: Problem[] = [];

  whole({
    current,
    contexts = {},
    ...others
  }: Readonly<Record<string, unknown>>): Pick<Contexts, 'byName' | 'current'> {
    for (const key of Object.keys(others)) this.#unknown([key], ['current', 'contexts']);
    const byName = new Map<string, Settings>();
    if (!isTable(contexts)) this.#wrong(['contexts'], contexts, 'is not a table', '[contexts.NAME] begins a context');
    else for (const [name, table] of Object.entries(contexts)) byName.set(name, this.#context(name, table));
    if (current === undefined) return { byName };
    const isKnown = typeof current === 'string' && (byName.has(current) || current === LOCAL_CONTEXT);
    if (isKnown) return { byName, current };
    this.#wrong(
      ['current'],
      current,
      `there is no context ${showValue(current)}`,
      `there are: ${[...byName.keys(), LOCAL_CONTEXT].join(', ')}`,
    );
    return { byName };
  }

  #context(name: string, table: unknown): Settings {
    const path = ['contexts', name];
    if (name === LOCAL_CONTEXT || !NAME.test(name))
      this.problems.push({
        path,
        at: 'key',
        message: name === LOCAL_CONTEXT ? 'the name is that of the local stack' : `is not ${NAME_RULE}`,
      });
    if (!isTable(table)) {
      this.#wrong(path, table, 'is not a table', `[contexts.${name}] begins it`);
      return {};
    }
    const settings: Partial<Record<SettingKey, string>> = {};
    for (const [key, value] of Object.entries(table)) {
      const setting = SETTINGS.find((each) => each.key === key);
      if (setting === undefined)
        this.#unknown(
          [...path, key],
          SETTINGS.map((each) => each.key),
        );
      else if (value !== false) settings[setting.key] = this.#value(setting, [...path, key], value);
    }
    if (!('address' in table) && !('server' in table))
      this.problems.push({ path, at: 'key', message: 'names no server', hint: NAMES_SERVER });
    return settings;
  }

  #value(setting: Setting, path: readonly string[], value: unknown): string {
    const isBoolean = setting.kind === 'boolean';
    const wanted = isBoolean ? 'boolean' : 'string';
    if (typeof value !== wanted) {
      this.#wrong(
        path,
        setting.kind === 'reference' ? '' : value,
        `is not ${isBoolean ? 'true or false' : 'a text in quotes'}`,
      );
      return '';
    }
    const problem = problemOf(setting, String(value));
    if (problem !== undefined) this.#wrong(path, value, problem.message, problem.hint);
    return String(value);
  }

  #unknown(path: readonly string[], known: readonly string[]): void {
    const nearest = nearestWord(path.at(-1) ?? '', known);
    const hint = [
      ...(nearest === undefined ? [] : [`the nearest is ${nearest}`]),
      `there are: ${known.join(', ')}`,
    ].join('\n');
    this.problems.push({ path, at: 'key', message: 'is not a key of contexts', hint });
  }

  #wrong(path: readonly string[], value: unknown, message: string, hint?: string): void {
    this.problems.push({ path, value, message, ...(hint === undefined ? {} : { hint }) });
  }
}

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const wrong = (problems: readonly Problem[]): CliError => new CliError(ExitCode.Usage, formatProblems(problems));

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(ExitCode.Usage, `${file}: cannot be read: ${fileErrorWords(error)}`);
  }
}

/** Refuses a file with an API key that others can open: by changing the address that gets the key, they could get it. */
function refuseOpenFile(file: string, byName: ReadonlyMap<string, Settings>): void {
  const holder = [...byName].find(([, { api_key: key }]) => key !== undefined)?.[0];
  const mode = holder === undefined ? undefined : modeForOthers(statSync(file, { throwIfNoEntry: false })?.mode ?? 0);
  if (mode === undefined) return;
  throw new CliError(
    ExitCode.Usage,
    `${file}: others can open it (mode ${mode}), and context ${holder} names an API key`,
    `chmod 600 ${file}`,
  );
}

// Edits the text of contexts.toml. Everything that is not changed, comments included, keeps its form.

/** The file's text with changed settings of one context. @param values undefined removes the key */
export function withSettings(
  text: string,
  name: string,
  values: Readonly<Partial<Record<SettingKey, string | true | undefined>>>,
): string {
  let changed =
    tableOf(text, name) === undefined ? `${ended(text)}${text === '' ? '' : '\n'}[contexts.${name}]\n` : text;
  for (const [key, value] of Object.entries(values)) changed = withSetting(changed, name, key, value);
  return changed;
}

/** The file's text without the context. It is no longer current then. @throws CliError if the file has it in another form */
export function withoutContext(text: string, name: string, current: string | undefined): string {
  const table = tableOf(text, name);
  if (table === undefined) throw otherForm(name);
  const end = table.body.at(-1)?.range[1] ?? table.range[1];
  const without = text.slice(0, table.range[0]) + text.slice(lineEnd(text, end)).replace(/^\n/, '');
  return current === name ? withCurrent(without, undefined) : without;
}

/** The file's text with another current context. @param name undefined: no context is current */
export function withCurrent(text: string, name: string | undefined): string {
  const pair = topOf(text).body.find(
    (node): node is AST.TOMLKeyValue => node.type === 'TOMLKeyValue' && keyOf(node) === 'current',
  );
  if (pair !== undefined) return replaced(text, pair, name);
  return name === undefined ? text : `current = ${quoted(name)}\n${text === '' ? '' : '\n'}${text}`;
}

function withSetting(text: string, name: string, key: string, value: string | true | undefined): string {
  const table = tableOf(text, name);
  if (table === undefined) throw otherForm(name);
  const pair = table.body.find((each) => keyOf(each) === key);
  if (pair !== undefined) return replaced(text, pair, value);
  if (value === undefined) return text;
  const at = lineEnd(text, table.body.at(-1)?.range[1] ?? table.key.range[1]);
  return `${ended(text.slice(0, at))}${key} = ${quoted(value)}\n${text.slice(at)}`;
}

function replaced(text: string, pair: AST.TOMLKeyValue, value: string | true | undefined): string {
  const [start, end] = value === undefined ? [pair.range[0], lineEnd(text, pair.range[1])] : pair.value.range;
  return text.slice(0, start) + (value === undefined ? '' : quoted(value)) + text.slice(end);
}

const topOf = (text: string): AST.TOMLTopLevelTable => parseTOML(text, { tomlVersion: '1.1' }).body[0];

/** The table `[contexts.NAME]` of a file. */
const tableOf = (text: string, name: string): AST.TOMLTable | undefined =>
  topOf(text).body.find(
    (node): node is AST.TOMLTable =>
      node.type === 'TOMLTable' && JSON.stringify(node.resolvedKey) === JSON.stringify(['contexts', name]),
  );

const keyOf = ({ key }: AST.TOMLKeyValue): string =>
  key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value)).join('.');

const quoted = (value: string | true): string => (value === true ? 'true' : JSON.stringify(value));
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Position after the end of the line that contains `from`. */
function lineEnd(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline === -1 ? text.length : newline + 1;
}

const otherForm = (name: string): CliError =>
  new CliError(
    ExitCode.Usage,
    `context ${name}: stands in contexts.toml in another form than [contexts.${name}]`,
    'change it there with an editor, or write it as such a table',
  );
