import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as EnvConfig from '@temporalio/envconfig';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type DevContext, readDevContext } from '../stack/context.js';
import { type Environment, type StackHome, stackHome } from '../../terminal/home.js';
import { type Contexts, contextsFile, LOCAL_CONTEXT, readContexts, unknownContext } from './contexts-file.js';
import { propertyOf, type SettingKey, type Settings, SETTINGS } from '../../terminal/settings.js';

export type LayerKind = 'flags' | 'environment' | 'context' | 'profile' | 'stack';

/** One source of settings. */
export interface Layer {
  readonly kind: LayerKind;
  /** For people: `context prod`, `TEMPORAL_* and JOBCTL_*`. */
  readonly title: string;
  readonly settings: Settings;
  /** True if this layer chooses the server, even if only Temporal's own settings know the address. */
  readonly namesServer: boolean;
}

export interface Layers {
  /** All layers, highest precedence first. */
  readonly all: readonly Layer[];
  /** The layer that chooses the server, if any does. */
  readonly server?: Layer;
  /** The layers in effect: flags, the environment, and those others that choose the same server. */
  readonly used: readonly Layer[];
  /** Name of the chosen context, `local` included. */
  readonly contextName?: string;
  readonly stack?: DevContext;
  readonly home: StackHome;
}

/** The effective value: that of the first layer that has one. @param used the field of `Layers` */
export const settingOf = (used: readonly Layer[], key: SettingKey): string | undefined =>
  used.find(({ settings }) => settings[key])?.settings[key];

type Flags = Readonly<Record<string, unknown>> & { readonly context?: string };

/**
 * Layers in order: flags, `--context`, the environment, JOBCTL_CONTEXT, the local stack of a JOBCTL_HOME that was set by hand,
 * the current context, Temporal's profile, the local stack (docs/adr/0062, 0104). The first that names a server decides.
 * Contexts, profile and stack of another server are ignored completely, so that jobs of one place never use the bucket of
 * another.
 * @throws CliError (Usage) if the named context does not exist or contexts.toml is invalid
 */
export function settingLayers(flags: Flags, env: Environment): Layers {
  const home = stackHome(env);
  const stack = readDevContext(home);
  const byFlag = flags.context;
  const byEnvironment = byFlag === undefined ? given(env['JOBCTL_CONTEXT']) : undefined;
  const contexts = needsFile(env, byFlag ?? byEnvironment) ? readContexts(env) : undefined;
  // A user who names a state folder with a stack means that stack: the stored context may be from another shell, or from
  // yesterday.
  const isStackNamed = given(env['JOBCTL_HOME']) !== undefined && stack !== undefined;
  const contextName = byFlag ?? byEnvironment ?? (isStackNamed ? undefined : contexts?.current);
  const whence = byFlag === undefined ? (byEnvironment === undefined ? 'current' : 'JOBCTL_CONTEXT') : '--context';
  const named = contextName === undefined ? [] : contextLayers(contexts, contextName, whence, stack);
  const own = stack === undefined || contextName === LOCAL_CONTEXT ? [] : [stackLayer(stack)];
  const all = [
    flagLayer(fromFlags(flags)),
    ...(byFlag === undefined ? [] : named),
    environmentLayer(env, byFlag !== undefined),
    ...(byFlag === undefined ? named : []),
    ...(isStackNamed ? own : []),
    ...profileLayers(env),
    ...(isStackNamed ? [] : own),
  ];
  const isLocalMissing = contextName === LOCAL_CONTEXT && stack === undefined;
  const first = all.find(({ namesServer }) => namesServer);
  // A user who says `local` does not mean a server of a lower layer.
  const server = isLocalMissing && first?.kind !== 'flags' && first?.kind !== 'environment' ? undefined : first;
  return {
    all,
    ...(server === undefined ? {} : { server }),
    used: all.filter((each) => isOfPlace(each, server)).map((each) => withoutOtherPlace(each, server)),
    ...(contextName === undefined ? {} : { contextName }),
    ...(stack === undefined ? {} : { stack }),
    home,
  };
}

const layer = (kind: LayerKind, title: string, settings: Settings): Layer => ({
  kind,
  title,
  settings,
  namesServer: settings.address !== undefined || settings.server !== undefined,
});

export const flagLayer = (settings: Settings): Layer => layer('flags', 'flags', settings);

function isOfPlace(each: Layer, server: Layer | undefined): boolean {
  if (each.kind === 'flags' || each.kind === 'environment' || each === server) return true;
  if (server === undefined) return false;
  const { server: url, address } = server.settings;
  if (url !== undefined) return each.settings.server === url;
  return address !== undefined && each.settings.address === address;
}

/** The layer without settings for the other place: jobs are on a `jobctl serve`, or in Temporal. All else of it applies. */
function withoutOtherPlace(each: Layer, decides: Layer | undefined): Layer {
  if (each === decides || decides === undefined) return each;
  const { server: url, address, ...others } = each.settings;
  const isSame = decides.settings.server !== undefined && url === decides.settings.server;
  if (isSame || (url === undefined && decides.settings.server === undefined)) return each;
  const kept = decides.settings.server === undefined && address !== undefined ? { address } : {};
  return { ...each, settings: { ...others, ...kept } };
}

/** Whether the file must be read. It is read only if it can matter: each read loads a TOML parser. */
function needsFile(env: Environment, name: string | undefined): boolean {
  if (name !== undefined) return name !== LOCAL_CONTEXT;
  return existsSync(contextsFile(env));
}

function contextLayers(
  contexts: Contexts | undefined,
  name: string,
  whence: string,
  stack: DevContext | undefined,
): readonly Layer[] {
  if (name === LOCAL_CONTEXT) return stack === undefined ? [] : [stackLayer(stack)];
  const settings = contexts?.byName.get(name);
  if (contexts === undefined || settings === undefined)
    throw unknownContext(contexts ?? { file: '', text: '', byName: new Map() }, name, whence);
  return [layer('context', `context ${name}`, settings)];
}

function fromFlags(flags: Flags): Settings {
  const taken = SETTINGS.filter(({ kind, key }) => kind === undefined && key !== 'user' && key !== 'project');
  return Object.fromEntries(
    taken.flatMap(({ key, flag }) => {
      const value = flags[propertyOf(flag)];
      return typeof value === 'string' ? [[key, value]] : [];
    }),
  );
}

const isOfServer = (variable = ''): boolean => variable.startsWith('TEMPORAL_') || variable === 'JOBCTL_SERVER';

/** @param isServerSaid true if `--context` chooses the server: server variables of the environment then do not apply */
function environmentLayer(env: Environment, isServerSaid: boolean): Layer {
  const read = SETTINGS.flatMap(({ key, variable }) => {
    const value = variable === undefined ? undefined : given(env[variable]);
    return value === undefined || (isServerSaid && isOfServer(variable)) ? [] : [[key, value]];
  });
  const plain = layer('environment', 'the environment', Object.fromEntries(read) as Settings);
  const names = ['TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'].filter((name) => given(env[name]) !== undefined);
  if (isServerSaid || names.length === 0 || plain.namesServer) return plain;
  const { address, namespace } = profile(env) ?? {};
  const own = { ...(address && { address }), ...(namespace && { namespace }), ...plain.settings };
  return { kind: 'environment', title: `the environment (${names.join(', ')})`, settings: own, namesServer: true };
}

/** Temporal's own default profile, if its file names a server. */
function profileLayers(env: Environment): readonly Layer[] {
  const file = temporalFile(env);
  if (file === undefined || !existsSync(file)) return [];
  const found = profile({ HOME: env['HOME'], XDG_CONFIG_HOME: env['XDG_CONFIG_HOME'], APPDATA: env['APPDATA'] });
  if (found?.address === undefined) return [];
  const { address, namespace } = found;
  return [layer('profile', `Temporal's profile in ${file}`, { address, ...(namespace && { namespace }) })];
}

/** The path of Temporal's file, as @temporalio/envconfig finds it. */
function temporalFile(env: Environment): string | undefined {
  const root =
    process.platform === 'darwin'
      ? env['HOME'] && join(env['HOME'], 'Library/Application Support')
      : (given(env['XDG_CONFIG_HOME']) ?? (env['HOME'] && join(env['HOME'], '.config')));
  return root ? join(root, 'temporalio', 'temporal.toml') : undefined;
}

/** The default profile. Undefined if it cannot be read: the code that connects with it reports the reason (client/connect.ts). */
function profile(env: Environment): { readonly address?: string; readonly namespace?: string } | undefined {
  try {
    const load = createRequire(import.meta.url)('@temporalio/envconfig') as typeof EnvConfig;
    return load.loadClientConfigProfile({ overrideEnvVars: present(env) });
  } catch {
    return undefined;
  }
}

const present = (env: Environment): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** The settings of a local stack as a layer. */
export function stackLayer({ temporal, store, codec, googleProject, secretStore }: DevContext): Layer {
  const { address, namespace, tlsCaFile, tlsServerName, apiKeyFile } = temporal;
  const settings: Settings = {
    address,
    namespace,
    ...(tlsCaFile === undefined ? {} : { tls_ca_file: tlsCaFile }),
    ...(tlsServerName === undefined ? {} : { tls_server_name: tlsServerName }),
    ...(apiKeyFile === undefined ? {} : { api_key: pathToFileURL(apiKeyFile).href }),
    bucket: store.bucket,
    ...(store.endpoint === undefined ? {} : { store_endpoint: store.endpoint }),
    ...(googleProject === undefined ? {} : { google_project: googleProject }),
    ...(secretStore === undefined ? {} : { secret_store: secretStore }),
    ...(codec?.key === undefined ? {} : { codec_key: codec.key }),
    ...(codec?.decodeKeys === undefined ? {} : { codec_decode_keys: codec.decodeKeys.join(',') }),
  };
  return layer('stack', 'the local stack', settings);
}

export const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** The CliError (Usage) for a command line that names no server. */
export function noServer(home: StackHome): CliError {
  return new CliError(
    ExitCode.Usage,
    'no server is named: there is no context, no JOBCTL_SERVER or TEMPORAL_ADDRESS, and no local stack',
    "a team's server: jobctl context set NAME --server URL, or --temporal-address HOST:PORT",
    `this computer alone: jobctl dev up, or jobctl submit --local (in ${home.root})`,
    '`jobctl help where` shows every way',
  );
}
