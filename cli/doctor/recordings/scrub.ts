import type { Exchange } from '../../../cloud/exchange.js';
import { Placeholders } from './placeholders.js';

/**
 * Removes everything from exchanges that identifies their owner: project ids and numbers, names of resources, e-mail addresses,
 * tokens, addresses, keys, labels, metadata. Equal words become equal placeholders in all exchanges. A text is kept only if its
 * key marks it as Google's own (`GOOGLES_TEXT`) or its form can hold no name; every other text is replaced whole (docs/adr/0120).
 * @param project the id of the project that was asked
 */
export function scrubbed(exchanges: readonly Exchange[], project: string): readonly Exchange[] {
  const words = new Placeholders();
  words.name('project', project);
  // All names are learned first: the first answer may contain a name that only the last one shows to be one.
  for (const { method, request, answer } of exchanges) learn({ method, request, answer }, words);
  return exchanges.map((exchange) => ({
    ...exchange,
    method: words.text(exchange.method.replace(/([?&]pageToken=)[^&]+/g, '$1page-token')),
    request: clean(exchange.request, words),
    answer: clean(exchange.answer, words),
  }));
}

type Tree = Readonly<Record<string, unknown>>;

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Collections of Google's paths whose members people name. Members of others, such as locations and acceleratorTypes, are Google's. */
const COLLECTION =
  /(?<=^|[/"'\s])(projects|nodes|queuedResources|reservations|networks|subnetworks|disks|instances|instanceTemplates|serviceAccounts|firewalls|organizations|folders|operations|b|roles)\/([^/\s'":?,]+)/g;
const GOOGLES_MEMBER = /^(?:-|_|default|[a-z]+\.[a-zA-Z.]+|tpu\.admin)$/;

/** Keys whose value is one name, even outside of a path. */
const NAMES = new Set('nodeId queuedResourceId nodeIdPrefix name network subnetwork bucket projectId'.split(' '));

function learn(value: unknown, words: Placeholders, key = ''): void {
  if (typeof value === 'string') {
    for (const [, collection = '', member = ''] of value.matchAll(COLLECTION)) {
      const kind = collection === 'projects' ? 'project' : 'name';
      if (!GOOGLES_MEMBER.test(member)) words.name(kind, member);
    }
    if (NAMES.has(key) && /^[\w.-]+$/.test(value) && !isGoogles(value))
      words.name(key === 'projectId' ? 'project' : 'name', value);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [field, child] of Object.entries(value)) learn(child, words, Array.isArray(value) ? key : field);
}

/** Keys whose text is Google's own: it is kept, except for names and parts whose form is personal. */
const GOOGLES_TEXT = new Set(
  `message reason domain service permission permissions url type acceleratorType runtimeVersion version topology verb state status health
  healthDescription statusDetail apiVersion code location locationId zone region machineType metric unit locale kind field consumer
  resource resourceType resourceName undecoded locationType role`.split(/\s+/),
);

function clean(value: unknown, words: Placeholders, key = '', holder: Tree = {}): unknown {
  if (typeof value === 'string') return cleanText(value, words, key, holder);
  if (typeof value === 'number') return Math.abs(value) < LARGE_NUMBER ? value : Number(words.number(String(value)));
  if (Array.isArray(value)) return value.map((item: unknown) => clean(item, words, key, holder));
  if (!isTree(value)) return value;
  if (key === 'labels' || (key === 'metadata' && !isGooglesMetadata(value, holder))) return cleanMap(value, words, key);
  const entries = Object.entries(value).map(([field, child]) => [
    isFieldName(field) ? words.text(field) : words.other('key', field),
    clean(child, words, field, value),
  ]);
  return Object.fromEntries(entries) as unknown;
}

/** Metadata of an operation or of google.rpc.ErrorInfo. */
const isGooglesMetadata = (value: Tree, holder: Tree): boolean =>
  typeof value['@type'] === 'string' || String(holder['@type']).endsWith('ErrorInfo');

const LARGE_NUMBER = 10_000_000;
const isFieldName = (key: string): boolean => /^(?:@type|[a-z][A-Za-z0-9]{0,39})$/.test(key) && !/\d{4}/.test(key);

/** Forms that contain no names of users. */
const GOOGLES_FORM = [
  /^$/,
  /^[A-Z][A-Z_]*(?:\d[A-Z_]*)?$/,
  /^\d{1,7}$/,
  /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
  /^\d+(?:\.\d+)?s$/,
  /^(?:africa|asia|australia|europe|me|northamerica|southamerica|us)-[a-z]+\d+(?:-[a-z])?$/,
  /^(?:type\.googleapis\.com\/)?google\.[A-Za-z0-9.]+$/,
  /^v\d[a-z]*-\d+$/,
  /^(?:-|default)$/,
];
const isGoogles = (text: string): boolean => GOOGLES_FORM.some((form) => form.test(text));

function cleanText(text: string, words: Placeholders, key: string, holder: Tree): string {
  if (/token$/i.test(key) && text !== '') return words.other('token', text);
  if (key === '@type') return words.text(text);
  if (isGoogles(text)) return words.text(text);
  // The description of a problem of a field, or of a link; otherwise the user has described their own resource.
  const isHelp = key === 'description' && ('field' in holder || 'url' in holder);
  if (GOOGLES_TEXT.has(key) || isHelp) return words.text(text);
  const known = words.text(text);
  // A path keeps its form.
  if (/^(?:https:\/\/[\w.]+\/|\/\/)?(?:[\w-]+\/)*projects\/[^\s]+$/.test(text)) return known;
  return words.isPlaceholder(known) ? known : words.other('text', text);
}

/** Keys of instance metadata that are Google's. */
const METADATA_KEYS = new Set(
  'ssh-keys startup-script shutdown-script enable-oslogin enable-guest-attributes'.split(' '),
);

function cleanMap(map: Tree, words: Placeholders, key: string): unknown {
  const entries = Object.entries(map).map(([name, value]) => {
    const isKnown = METADATA_KEYS.has(name) || /^(?:jobctl|goog)-[a-z-]+$/.test(name);
    const isCount = name.startsWith('jobctl-') && /^\d{1,5}$/.test(String(value));
    return [
      isKnown ? name : words.other(`${key}-key`, name),
      isCount ? value : words.other(`${key}-value`, String(value)),
    ];
  });
  return Object.fromEntries(entries) as unknown;
}
