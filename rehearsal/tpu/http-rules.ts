import type protobuf from 'protobufjs';
import type { ApiVersion } from './api-version.js';
import { API_VERSIONS } from './api-version.js';
import { protoRoot } from './protos.js';

/** The HTTP form of one method (google.api.HttpRule). */
export interface HttpRule {
  readonly version: ApiVersion;
  readonly method: string;
  readonly verb: string;
  /** Matches the whole path. Its groups are the `fields`, in order. */
  readonly path: RegExp;
  /** Request fields that are taken from the path, such as `node.name`. */
  readonly fields: readonly string[];
  /** The field that the body holds; `*`: the request itself; empty: no body. */
  readonly body: string;
  readonly request: protobuf.Type;
  readonly response: protobuf.Type;
}

let rules: readonly HttpRule[] | undefined;

/** Finds a method's rule, from the annotations in Google's protos; undefined if no method has this verb and path. */
export function findRule(
  verb: string,
  path: string,
): { readonly rule: HttpRule; readonly values: readonly string[] } | undefined {
  rules ??= API_VERSIONS.flatMap((version) => [...annotatedRules(version), ...mixinRules(version)]);
  for (const rule of rules) {
    const found = rule.verb === verb ? rule.path.exec(path) : null;
    if (found !== null) return { rule, values: found.slice(1) };
  }
  return undefined;
}

/** gcloud lists and describes accelerator types by v1; v1's other methods are for TPU nodes, which are not VMs. */
const V1_METHODS: readonly string[] = ['ListAcceleratorTypes', 'GetAcceleratorType'];

function annotatedRules(version: ApiVersion): readonly HttpRule[] {
  const service = protoRoot().lookupService(`google.cloud.tpu.${version}.Tpu`);
  const served = service.methodsArray.filter(({ name }) => version !== 'v1' || V1_METHODS.includes(name));
  return served.flatMap((method) => {
    method.resolve();
    const http = annotation(method);
    const verb = ['get', 'post', 'patch', 'delete', 'put'].find((name) => http[name] !== undefined);
    if (verb === undefined) return [];
    return [ruleOf(version, method, verb, http[verb] ?? '', http['body'] ?? '')];
  });
}

function annotation(method: protobuf.Method): Readonly<Record<string, string>> {
  const options = (method.parsedOptions ?? []) as readonly Readonly<Record<string, unknown>>[];
  return (options.find((option) => option['(google.api.http)'] !== undefined)?.['(google.api.http)'] ?? {}) as Readonly<
    Record<string, string>
  >;
}

/** Methods that all Google APIs share: their paths are in each service's configuration, not in the protos. */
function mixinRules(version: ApiVersion): readonly HttpRule[] {
  const operation = '{name=projects/*/locations/*/operations/*}';
  const mixins: readonly (readonly [service: string, method: string, verb: string, path: string, body: string])[] = [
    ['google.longrunning.Operations', 'GetOperation', 'get', operation, ''],
    ['google.longrunning.Operations', 'ListOperations', 'get', '{name=projects/*/locations/*}/operations', ''],
    ['google.longrunning.Operations', 'CancelOperation', 'post', `${operation}:cancel`, '*'],
    ['google.longrunning.Operations', 'DeleteOperation', 'delete', operation, ''],
    ['google.longrunning.Operations', 'WaitOperation', 'post', `${operation}:wait`, '*'],
    ['google.cloud.location.Locations', 'ListLocations', 'get', '{name=projects/*}/locations', ''],
    ['google.cloud.location.Locations', 'GetLocation', 'get', '{name=projects/*/locations/*}', ''],
  ];
  return mixins.map(([service, name, verb, path, body]) => {
    const method = protoRoot().lookupService(service).get(name) as protobuf.Method;
    method.resolve();
    return ruleOf(version, method, verb, `/${version}/${path}`, body);
  });
}

function ruleOf(version: ApiVersion, method: protobuf.Method, verb: string, template: string, body: string): HttpRule {
  const fields: string[] = [];
  const pattern = template.replace(/[.:]|\{([^=}]+)=([^}]+)\}/g, (text, field?: string, segments?: string) => {
    if (field === undefined || segments === undefined) return `\\${text}`;
    fields.push(field);
    return `(${segments.replaceAll('*', '[^/:]+')})`;
  });
  const { resolvedRequestType: request, resolvedResponseType: response } = method;
  if (request === null || response === null) throw new TypeError(`${method.fullName}: its types are not in the protos`);
  const path = new RegExp(`^${pattern}$`);
  return { version, method: method.name, verb: verb.toUpperCase(), path, fields, body, request, response };
}
