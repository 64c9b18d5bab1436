import { parseTOML } from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { SettingKey } from '../../terminal/settings.js';

// Edits the text of contexts.toml. Everything that is not changed, comments included, keeps its form.

/** @param values undefined removes the key */
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

/** The file without the context, which is no longer current. @throws CliError if the file has it in another form */
export function withoutContext(text: string, name: string, current: string | undefined): string {
  const table = tableOf(text, name);
  if (table === undefined) throw otherForm(name);
  const end = table.body.at(-1)?.range[1] ?? table.range[1];
  const without = text.slice(0, table.range[0]) + text.slice(lineEnd(text, end)).replace(/^\n/, '');
  return current === name ? withCurrent(without, undefined) : without;
}

/** @param name undefined: no context is current */
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

/** The table that begins with `[contexts.NAME]`. */
const tableOf = (text: string, name: string): AST.TOMLTable | undefined =>
  topOf(text).body.find(
    (node): node is AST.TOMLTable =>
      node.type === 'TOMLTable' && JSON.stringify(node.resolvedKey) === JSON.stringify(['contexts', name]),
  );

const keyOf = ({ key }: AST.TOMLKeyValue): string =>
  key.keys.map((part) => (part.type === 'TOMLBare' ? part.name : part.value)).join('.');

const quoted = (value: string | true): string => (value === true ? 'true' : JSON.stringify(value));
const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** The position after the end of the line. */
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
