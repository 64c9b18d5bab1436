import { existsSync } from 'node:fs';
import { LOCAL_CONTEXT } from './contexts/contexts-file.js';
import {
  flagLayer,
  given,
  type Layer,
  type LayerKind,
  type Layers,
  noServer,
  settingLayers,
  settingOf,
  stackLayer,
} from './contexts/layers.js';
import type { SettingKey, Settings } from '../terminal/settings.js';
import type { TemporalOptions } from '../../client/connect.js';
import { type CodecReferences, splitReferences } from '../../cloud/codec/codec-key.js';
import { DEV_LABEL, type DevContext } from './stack/context.js';
import { type Environment, type StackHome, stackHome } from '../terminal/home.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { canonicalStore } from '../../domain/store-place.js';
import { checkSettings } from './settings-check.js';
import { lookOf } from '../terminal/render/look.js';
import { visibleText } from '../../domain/outside-text.js';
import { printErr } from '../terminal/print.js';

/** Flags of every verb that talks to a server. */
export interface ContextFlags {
  /** The name of a context (docs/cli.md, "Contexts"). */
  readonly context?: string;
  readonly server?: string;
  readonly temporalAddress?: string;
  readonly namespace?: string;
  readonly taskQueue?: string;
  readonly bucket?: string;
  readonly systemBucket?: string;
  readonly storeEndpoint?: string;
  readonly googleProject?: string;
  readonly tpuRestEndpoint?: string;
  readonly codecKey?: string;
  readonly codecDecodeKeys?: string;
  readonly secretStore?: string;
}

/** The server that was chosen, and the source that named it. */
export interface Place {
  readonly kind: LayerKind;
  /** Name of the context; `local` is the local stack. Absent: flags, the environment or Temporal's profile named the server. */
  readonly name?: string;
  /** HOST:PORT of Temporal, or the URL of a `jobctl serve`. Absent: only Temporal's own settings know it. */
  readonly address?: string;
}

/** The bucket, or the two buckets, of an installation that this computer reads and writes directly. */
export interface BucketPlace {
  readonly endpoint?: string;
  readonly bucket: string;
  /** Bucket of the objects that jobctl decides by (docs/adr/0082). Absent: they are in `bucket`. */
  readonly systemBucket?: string;
}

/** A `jobctl serve`. */
export interface ServerPlace {
  readonly url: string;
  /** Name of the context that names the server. */
  readonly name?: string;
  /** Audience of its tokens, from the context. */
  readonly audience?: string;
  /** Certificates of its authority, in addition to those that Node.js trusts. */
  readonly caFile?: string;
}

/** Place from which files of jobs are read. */
export type StorePlace = BucketPlace | { readonly server: ServerPlace };

/** Servers and stores of a command line. Absent fields are unset: @temporalio/envconfig and Google's defaults apply. */
export interface CliContext {
  readonly temporal: TemporalOptions;
  readonly taskQueue?: string;
  /** If present, jobs go through this server. An address in `temporal` is then only for verbs that need Temporal itself. */
  readonly server?: ServerPlace;
  readonly store?: StorePlace;
  /** The bucket, if one is named. */
  readonly bucket?: BucketPlace;
  readonly googleProject?: string;
  readonly tpuRestEndpoint?: string;
  /** File of the access token for `tpuRestEndpoint`, if that is the local stack's. */
  readonly accessTokenFile?: string;
  /** Place where `secret:NAME` is looked up: file:///FOLDER, or projects/P. */
  readonly secretStore?: string;
  /** SSH access to the local stack's hosts. */
  readonly ssh?: Pick<DevContext['ssh'], 'port' | 'privateKeyFile' | 'jobKeys'>;
  /** Kubeconfig of the local stack's simulated Kubernetes. Absent: the user's own. */
  readonly kubeconfig?: string;
  /** REHEARSAL if the verb talks to a local stack that simulates the cloud. */
  readonly label?: string;
  /** URL of Temporal's Web UI. */
  readonly uiUrl?: string;
  /** Both from the context. `user` replaces the login name; `project` is the quota project of job files that name none. */
  readonly user?: string;
  readonly project?: string;
  /** TLS and API key of the context, as references (connect.ts). */
  readonly login?: Settings;
  /** Absent if no source named a server: one of the two fields below is set then, and verbs refuse (`refuseStranger`). */
  readonly place?: Place;
  /** The state folder that was chosen, but that has no local stack. */
  readonly missingStack?: string;
  readonly nowhere?: StackHome;
}

/**
 * The place that a verb talks to, from the first source that names one: flags, `--context`, the environment (TEMPORAL_*,
 * JOBCTL_*), JOBCTL_CONTEXT, the local stack of a JOBCTL_HOME that was set by hand, the current context, Temporal's own profile,
 * the local stack (docs/adr/0062, 0104).
 * @throws CliError (Usage) if the named context does not exist or contexts.toml is invalid
 */
export function resolveContext(flags: ContextFlags, env: Environment = process.env): CliContext {
  checkSettings(flags, env);
  const layers = settingLayers(flags as Record<string, unknown>, env);
  const context = merged(flags, env, layers);
  const { server, home, stack, contextName } = layers;
  if (server !== undefined) return { ...context, place: placeOf(server, flags) };
  // A user who named a state folder, or started a stack, means that stack.
  const isMeant =
    given(env['JOBCTL_HOME']) !== undefined || contextName === LOCAL_CONTEXT || existsSync(home.recordFile);
  return stack === undefined && isMeant ? { ...context, missingStack: home.root } : { ...context, nowhere: home };
}

/** @throws CliError if no server is named: Temporal's default address could belong to another team */
export function refuseStranger({ missingStack, nowhere }: CliContext): void {
  if (nowhere !== undefined) throw noServer(nowhere);
  if (missingStack === undefined) return;
  throw new CliError(
    ExitCode.Unavailable,
    `there is no local stack in ${missingStack}`,
    'start it with `jobctl dev up`, or name another server: --context, --server, --temporal-address, JOBCTL_SERVER, TEMPORAL_ADDRESS or TEMPORAL_PROFILE',
  );
}

/** The context of the local stack only, for `--local`; environment variables for another Temporal are ignored. */
export function localContext(stack: DevContext, flags: ContextFlags, env: NodeJS.ProcessEnv = process.env): CliContext {
  // The stack's own server accepts neither the key nor the TLS of another server; @temporalio/envconfig would read both from
  // here.
  if (stack.temporal.uiUrl !== null || stack.temporal.apiKeyFile !== undefined)
    for (const name of Object.keys(env)) if (name.startsWith('TEMPORAL_')) delete env[name];
  const own = stackLayer(stack);
  const queue = given(flags.taskQueue);
  const layers = { server: own, used: [flagLayer(queue === undefined ? {} : { task_queue: queue }), own], stack };
  return { ...merged({}, {}, { ...layers, all: layers.used, home: stackHome(env) }), place: placeOf(own, {}) };
}

/** Merges the layers. Values that only the stack has, such as the SSH port of its hosts, apply only if a layer is the stack's. */
function merged(flags: ContextFlags, env: Environment, { used, server, stack: known }: Layers): CliContext {
  const value = (key: SettingKey): string | undefined => settingOf(used, key);
  const stack = used.some(({ kind }) => kind === 'stack') ? known : undefined;
  const login = used.find(({ kind }) => kind === 'context')?.settings ?? ownLoginOf(server);
  const [name, systemBucket] = [value('bucket'), value('system_bucket')].map((text) => text && canonicalStore(text));
  const endpoint = value('store_endpoint');
  const bucket = name === undefined ? undefined : { bucket: name, ...present({ endpoint, systemBucket }) };
  const url = value('server');
  const place =
    url === undefined
      ? undefined
      : {
          url,
          ...present({ name: contextNameOf(server, flags), caFile: login?.tls_ca_file, audience: login?.audience }),
        };
  return {
    temporal: {
      ...present({ address: value('address'), namespace: value('namespace'), codec: codecOf(used) }),
      ownSettings: ownSettingsOf(server, flags),
    },
    ...(place === undefined ? present({ store: bucket }) : { server: place, store: { server: place } }),
    ...present({
      bucket,
      taskQueue: value('task_queue'),
      googleProject: value('google_project'),
      tpuRestEndpoint: flags.tpuRestEndpoint ?? given(env['JOBCTL_TPU_REST_ENDPOINT']) ?? stack?.cloud.tpuRestEndpoint,
      accessTokenFile: stack?.cloud.accessTokenFile,
      secretStore: value('secret_store'),
      user: value('user'),
      project: value('project'),
      login,
      ssh: stack?.ssh,
      kubeconfig: stack?.kubeconfig,
      label: stack?.label ?? (value('rehearsal') === undefined ? undefined : DEV_LABEL),
      uiUrl: stack?.temporal.uiUrl ?? undefined,
    }),
  };
}

/** Login settings of a local stack whose server authenticates callers. */
const ownLoginOf = (server: Layer | undefined): Settings | undefined =>
  server?.kind === 'stack' && server.settings.api_key !== undefined ? server.settings : undefined;

/** Temporal's own settings that apply. Its TLS and API keys must not reach a server that they are not for. */
function ownSettingsOf(server: Layer | undefined, { context }: ContextFlags): 'all' | 'variables' | 'none' {
  if (server?.kind !== 'context' && server?.kind !== 'stack') return 'all';
  if (ownLoginOf(server) !== undefined) return 'none';
  return context === undefined ? 'variables' : 'none';
}

/** The codec keys. Flags and the environment together give them, or else the first other source gives all of them. */
function codecOf(used: readonly Layer[]): CodecReferences | undefined {
  const isSaid = ({ settings }: Layer): boolean =>
    settings.codec_key !== undefined || settings.codec_decode_keys !== undefined;
  const said = used.filter(({ kind }) => kind === 'flags' || kind === 'environment').filter(isSaid);
  const from = said.length > 0 ? said : used.filter(isSaid).slice(0, 1);
  const key = from.find(({ settings }) => settings.codec_key)?.settings.codec_key;
  const others = from.find(({ settings }) => settings.codec_decode_keys)?.settings.codec_decode_keys;
  if (key === undefined && others === undefined) return undefined;
  return present({ key, decodeKeys: others === undefined ? undefined : splitReferences(others) });
}

function placeOf(layer: Layer, flags: ContextFlags): Place {
  const { kind, settings } = layer;
  return { kind, ...present({ name: contextNameOf(layer, flags), address: settings.server ?? settings.address }) };
}

function contextNameOf(layer: Layer | undefined, { context }: ContextFlags): string | undefined {
  if (layer?.kind === 'stack') return LOCAL_CONTEXT;
  return layer?.kind === 'context' ? (context ?? layer.title.replace(/^context /, '')) : undefined;
}

/** @throws CliError if neither a server nor a bucket is known */
export function storeOf({ store }: CliContext, what: string): StorePlace {
  return store ?? noBucket(what);
}

/** @throws CliError if no bucket is known */
export function bucketOf({ bucket }: CliContext, what: string): BucketPlace {
  return bucket ?? noBucket(what);
}

function noBucket(what: string): never {
  throw new CliError(
    ExitCode.Usage,
    `no bucket is configured, so ${what}`,
    'jobctl keeps logs and files of jobs in a bucket of Cloud Storage or S3, or in a folder that its workers share',
    'name it with --bucket or JOBCTL_BUCKET, or start a local stack with `jobctl dev up`',
  );
}

function present<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

/** `context prod`, `context local`, or `server 10.0.0.1:7233` if no context was named. For headers. */
export function shortPlace({ place }: CliContext): string | undefined {
  if (place === undefined) return undefined;
  if (place.name !== undefined) return `context ${place.name}`;
  return `server ${place.address ?? "of Temporal's profile"}`;
}

/** `context prod: temporal.example.com:7233, namespace ml`. */
function placeLine(context: CliContext): string | undefined {
  const short = shortPlace(context);
  if (short === undefined) return undefined;
  const { place, temporal, label } = context;
  const details = [
    ...(place?.name === undefined || place.address === undefined ? [] : [place.address]),
    ...(temporal.namespace === undefined ? [] : [`namespace ${temporal.namespace}`]),
    // The name of the local stack already tells its cloud, and its jobs on a user's own machines are no rehearsal.
    ...(label === undefined || place?.name === 'local' ? [] : [label]),
  ];
  return details.length === 0 ? short : `${short}: ${details.join(', ')}`;
}

/** Contexts whose place was already printed. */
const told = new WeakSet<CliContext>();

/** Resolves the place of a verb that changes something there, and prints it to stderr before any question or change. */
export function contextToChange(flags: ContextFlags & { readonly output?: string }): CliContext {
  const context = resolveContext(flags);
  told.add(context);
  const line = placeLine(context);
  if (flags.output !== 'json' && line !== undefined) printErr(`${line}\n`);
  return context;
}

/** Prints the place for a verb that only reads: only on a terminal, and only if a context of the file is used. */
export function tellReadPlace(context: CliContext): void {
  if (!process.stderr.isTTY || context.place?.kind !== 'context' || told.has(context)) return;
  told.add(context);
  const line = placeLine(context);
  if (line !== undefined)
    process.stderr.write(`${lookOf(process.stderr, process.env).paint('dim', visibleText(line))}\n`);
}
