import { existsSync } from 'node:fs';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import {
  checkName,
  type Contexts,
  LOCAL_CONTEXT,
  problemOf,
  readContexts,
  unknownContext,
  writeContexts,
  withCurrent,
  withoutContext,
  withSettings,
} from '../../place/contexts/contexts-file.js';
import { type Layers, settingLayers } from '../../place/contexts/layers.js';
import { propertyOf, type SettingKey, type Settings, SETTINGS } from '../../terminal/settings.js';
import { type ContextFlags, refuseStranger, resolveContext } from '../../place/context.js';
import { readDevContext } from '../../place/stack/context.js';
import { stackHome } from '../../terminal/home.js';
import type { OutputFlag } from '../../terminal/options.js';
import { renderTable } from '../../terminal/render/columns.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';

const say = (line: string): void => printOut(`${line}\n`);

/** `context ls`: lists the contexts of the file, and the local stack. */
export function contextList({ output }: OutputFlag): number {
  const contexts = readContexts(process.env);
  const stack = readDevContext(stackHome());
  const local =
    stack === undefined
      ? []
      : [
          {
            name: LOCAL_CONTEXT,
            address: stack.temporal.address,
            namespace: stack.temporal.namespace,
            bucket: stack.store.bucket,
            ...(stack.label === undefined ? {} : { rehearsal: 'true' }),
          },
        ];
  const named = [...contexts.byName].map(([name, settings]) => ({ name, ...settings }));
  const rows: readonly (Settings & { readonly name: string })[] = [...named, ...local];
  const current = chosenName();
  if (output === 'json') {
    say(JSON.stringify({ file: contexts.file, current: current ?? null, contexts: rows }, null, 2));
    return ExitCode.Done;
  }
  if (rows.length === 0) {
    printErr(
      asTyped(
        `there are no contexts in ${contexts.file}\n  to make one: jobctl context set NAME --server URL, or --temporal-address HOST:PORT\n`,
      ),
    );
    return ExitCode.Done;
  }
  const table = rows.map(({ name, server, address, namespace, bucket = '', rehearsal }) => [
    name === current ? '*' : '',
    name,
    server ?? address ?? '',
    namespace ?? (address === undefined ? '' : 'default'),
    bucket,
    rehearsal === undefined ? '' : 'REHEARSAL',
  ]);
  for (const line of renderTable([['', 'NAME', 'SERVER', 'NAMESPACE', 'BUCKET', ''], ...table])) say(line.trimEnd());
  return ExitCode.Done;
}

/** The name of the context that verbs use now, or undefined if no context chooses their server. */
function chosenName(): string | undefined {
  const { place } = resolveContext({});
  return place?.name;
}

/** `context use NAME`. @throws CliError (Usage) if there is no such context */
export function contextUse(name: string): number {
  const contexts = readContexts(process.env);
  if (name !== LOCAL_CONTEXT && !contexts.byName.has(name)) throw unknownContext(contexts, name, 'context use');
  writeContexts(contexts.file, withCurrent(contexts.text, name));
  say(`context ${name} is used from now on`);
  tellWhatWins(name);
  return ExitCode.Done;
}

export type ContextSetFlags = Readonly<Record<string, unknown>> & { readonly unset?: readonly string[] };

/** `context set NAME`: creates a context or changes the given settings. @throws CliError (Usage); the file is then unchanged */
export function contextSet(name: string, flags: ContextSetFlags): number {
  checkName(name);
  const contexts = readContexts(process.env);
  const isNew = !contexts.byName.has(name);
  const values = { ...unsetOf(flags.unset ?? []), ...valuesOf(flags) };
  const after = { ...contexts.byName.get(name), ...values };
  if (isNew && after.address === undefined && after.server === undefined)
    throw new CliError(
      ExitCode.Usage,
      `context ${name}: is new, and needs a server`,
      `jobctl context set ${name} --server URL, or --temporal-address HOST:PORT`,
    );
  if (!isNew && Object.keys(values).length === 0)
    throw new CliError(
      ExitCode.Usage,
      `context ${name}: nothing to set`,
      '`jobctl context set --help` shows what there is',
    );
  if (after.address === undefined && after.server === undefined)
    throw new CliError(
      ExitCode.Usage,
      `context ${name}: cannot be without a server`,
      `jobctl context rm ${name} removes it`,
    );
  const isFirst = isNew && contexts.byName.size === 0 && contexts.current === undefined;
  const text = withSettings(contexts.text, name, values);
  writeContexts(contexts.file, isFirst ? withCurrent(text, name) : text);
  say(`context ${name} is ${isNew ? 'made' : 'changed'} in ${contexts.file}`);
  if (isFirst) say(`It is the first, so it is used from now on.`);
  else if (isNew) say(asTyped(`To use it: jobctl context use ${name}, or --context ${name} with one command`));
  return ExitCode.Done;
}

function valuesOf(flags: ContextSetFlags): Readonly<Partial<Record<SettingKey, string | true>>> {
  return Object.fromEntries(
    SETTINGS.flatMap((setting) => {
      const given = flags[propertyOf(setting.flag)];
      if (given === undefined) return [];
      const problem = problemOf(setting, String(given));
      if (problem !== undefined)
        throw new CliError(
          ExitCode.Usage,
          `--${setting.flag}: ${problem.message}`,
          ...(problem.hint === undefined ? [] : [problem.hint]),
        );
      return [[setting.key, given === true ? true : String(given)]];
    }),
  );
}

function unsetOf(keys: readonly string[]): Readonly<Partial<Record<SettingKey, undefined>>> {
  return Object.fromEntries(
    keys.map((key) => {
      const setting = SETTINGS.find((each) => each.key === key || each.flag === key);
      if (setting !== undefined) return [setting.key, undefined];
      throw new CliError(
        ExitCode.Usage,
        `--unset: '${key}' is not a key of contexts`,
        `there are: ${SETTINGS.map((each) => each.key).join(', ')}`,
      );
    }),
  );
}

/** `context rm NAME`. */
export function contextRemove(name: string): number {
  const contexts = readContexts(process.env);
  if (name === LOCAL_CONTEXT)
    throw new CliError(ExitCode.Usage, 'context local: is the local stack', '`jobctl dev down --purge` removes it');
  if (!contexts.byName.has(name)) throw unknownContext(contexts, name, 'context rm');
  writeContexts(contexts.file, withoutContext(contexts.text, name, contexts.current));
  say(`context ${name} is removed from ${contexts.file}`);
  if (contexts.current === name) say(asTyped('No context is current now; `jobctl context use NAME` chooses one.'));
  return ExitCode.Done;
}

/** `context show [NAME]`: shows a context of the file, or without a name the settings of the next command and their sources. */
export function contextShow(name: string | undefined, flags: OutputFlag & ContextFlags): number {
  return name === undefined ? showInForce(flags) : showNamed(name, flags);
}

function showNamed(name: string, { output }: OutputFlag): number {
  const contexts: Contexts = readContexts(process.env);
  const settings = name === LOCAL_CONTEXT ? stackSettings() : contexts.byName.get(name);
  if (settings === undefined) throw unknownContext(contexts, name, 'context show');
  if (output === 'json') say(JSON.stringify({ name, file: contexts.file, settings }, null, 2));
  else
    for (const line of renderTable(Object.entries(settings).map(([key, value]) => [key, value]))) say(line.trimEnd());
  return ExitCode.Done;
}

const stackSettings = (): Settings | undefined =>
  settingLayers({ context: LOCAL_CONTEXT }, {}).all.find(({ kind }) => kind === 'stack')?.settings;

interface InForce {
  readonly key: SettingKey;
  readonly value: string;
  readonly from: string;
  /** Sources with other values, which are overridden. */
  readonly over: readonly string[];
}

function showInForce(flags: OutputFlag & ContextFlags): number {
  const layers = settingLayers({ ...flags }, process.env);
  const context = resolveContext(flags);
  refuseStranger(context);
  const rows = SETTINGS.flatMap(({ key }) => inForce(layers, key) ?? []);
  const passed = layers.all.filter(
    (each) => !layers.used.some(({ title }) => title === each.title) && each.namesServer,
  );
  if (flags.output === 'json') {
    say(
      JSON.stringify(
        { context: context.place?.name ?? null, settings: rows, passedOver: passed.map(({ title }) => title) },
        null,
        2,
      ),
    );
    return ExitCode.Done;
  }
  say(
    context.place?.name === undefined
      ? 'No context: flags or the environment name the server.'
      : `Context ${context.place.name}${context.label === undefined ? '' : ` (${context.label})`}`,
  );
  const table = rows.map(({ key, value, from, over }) => [
    key,
    value,
    over.length === 0 ? from : `${from}, not ${over.join(', ')}`,
  ]);
  for (const line of renderTable([['SETTING', 'VALUE', 'FROM'], ...table])) say(line.trimEnd());
  for (const { title, settings } of passed)
    say(`Passed over: ${title}${placeText(settings)}, since ${layers.server?.title} names another server.`);
  return ExitCode.Done;
}

const placeText = ({ server, address }: Settings): string =>
  server === undefined && address === undefined ? '' : ` (${server ?? address})`;

function inForce({ used }: Layers, key: SettingKey): InForce | undefined {
  const said = used.filter(({ settings }) => settings[key] !== undefined);
  const [first, ...others] = said;
  const value = first?.settings[key];
  if (first === undefined || value === undefined) return undefined;
  const over = others
    .filter(({ settings }) => settings[key] !== value)
    .map(({ title, settings }) => `${settings[key]} of ${title}`);
  return { key, value, from: first.title, over };
}

/** After `use`, reports sources of higher precedence that still choose another server. */
function tellWhatWins(name: string): void {
  const { server, contextName } = settingLayers({}, process.env);
  if (contextName !== name) printErr(`note: JOBCTL_CONTEXT=${contextName} wins over it in this shell\n`);
  else if (server?.kind === 'environment')
    printErr(
      `note: ${server.title} names the server ${server.settings.server ?? server.settings.address ?? ''} and wins over it in this shell\n`,
    );
  else if (name === LOCAL_CONTEXT && !existsSync(stackHome().contextFile))
    printErr(asTyped('note: there is no local stack yet; `jobctl dev up` starts one\n'));
}
