import type { Exchange } from '../../../cloud/exchange.js';

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

/** Whether a value is the metadata of an operation or of google.rpc.ErrorInfo. */
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

/** Replaced words and their placeholders: equal words have equal placeholders. */
class Placeholders {
  /** Names, which are replaced wherever they appear as a word. */
  readonly #names = new Map<string, string>();
  readonly #others = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** Pattern of all names, the longest first; rebuilt when a name is learned. */
  #pattern: RegExp | undefined;

  /** Learns a name of a project or of a resource; digits alone are a project's number. */
  name(kind: 'project' | 'name', word: string): void {
    if (word === '' || this.#names.has(word)) return;
    this.#names.set(word, /^\d+$/.test(word) ? this.#numberPlaceholder() : `${kind}-${this.#next(kind)}`);
    this.#pattern = undefined;
  }

  /** Returns whether a text is exactly one of our placeholders. */
  isPlaceholder(text: string): boolean {
    return PLACEHOLDER.test(text);
  }

  number(digits: string): string {
    return this.#kept(`number ${digits}`, () => this.#numberPlaceholder());
  }

  /** Returns the placeholder for a whole text. @param kind such as `token`: the placeholder is the kind and a number */
  other(kind: string, text: string): string {
    return this.#kept(`${kind} ${text}`, () => `${kind}-${this.#next(kind)}`);
  }

  /** Replaces learned names in a text, and parts whose form is personal or secret, because a name may contain such a part. */
  text(text: string): string {
    this.#pattern ??= patternOf(this.#names.keys());
    const unnamed = text.replace(this.#pattern, (word) => this.#names.get(word) ?? word);
    return FORMS.reduce((left, [form, kind]) => left.replace(form, (found) => this.#ofForm(kind, found)), unnamed);
  }

  #ofForm(kind: FormKind, found: string): string {
    if (PLACEHOLDER.test(found)) return found;
    switch (kind) {
      case 'email':
        return this.#kept(`email ${found}`, () => `person-${this.#next('person')}@example.com`);
      case 'address':
        return this.#kept(`address ${found}`, () => addressNumber(this.#next('address')));
      case 'number':
        return this.number(found);
      case 'long word':
        // Google's quota names are as long, with one or two digits.
        return (found.match(/\d/g) ?? []).length < 4 ? found : this.other('secret', found);
      case 'secret':
        return this.other('secret', found);
    }
  }

  #numberPlaceholder(): string {
    return String(FIRST_NUMBER + this.#next('number'));
  }

  #kept(key: string, make: () => string): string {
    const known = this.#others.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#others.set(key, made);
    return made;
  }

  #next(kind: string): number {
    const next = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, next);
    return next;
  }
}

const PLACEHOLDER =
  /^(?:(?:project|name|secret)-\d+|person-\d+@example\.com|(?:192\.0\.2|198\.51\.\d+)\.\d+|1000\d{8})$/;

/** First placeholder of project numbers. Google's have about twelve digits. */
const FIRST_NUMBER = 100_000_000_000;

/** An address from the ranges reserved for documentation (RFC 5737). */
const addressNumber = (number: number): string =>
  number < 255 ? `192.0.2.${number}` : `198.51.${100 + (number >> 8)}.${number & 255}`;

function patternOf(names: Iterable<string>): RegExp {
  const longestFirst = [...names].toSorted((a, b) => b.length - a.length);
  const any = longestFirst.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  return new RegExp(`(?<![A-Za-z0-9])(?:${any || '(?!)'})(?![A-Za-z0-9])`, 'g');
}

type FormKind = 'secret' | 'long word' | 'email' | 'address' | 'number';

/** Personal and secret forms. The order matters: a key may have an e-mail address as its comment. */
const FORMS: readonly (readonly [RegExp, FormKind])[] = [
  [/-----BEGIN [A-Z ]+-----[^]*?(?:-----END [A-Z ]+-----|$)/g, 'secret'],
  [/(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-[\w-]+|sk-[\w@.-]+)\s+[A-Za-z0-9+/=]+(?:[ \t]+[^\s"',;/?]+)?/g, 'secret'],
  [/\bAAAA[A-Za-z0-9+/=]{20,}/g, 'secret'],
  [/\b(?:Bearer|Basic)\s+[\w.~+/=-]+/gi, 'secret'],
  [/\b(?:ya29\.|1\/\/|eyJ|AIza|GOCSPX-|gh[opsur]_|github_pat_|hf_|sk-|xox[a-z]-)[\w.+/=-]{8,}/g, 'secret'],
  [/(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+/g, 'email'],
  [/(?<![\w.:])(?:[0-9a-f]{0,4}:){2,7}(?:[0-9a-f]{1,4}|:)(?:\/\d{1,3})?(?![\w:])/gi, 'address'],
  [/(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?(?!\w|\.\d)/g, 'address'],
  [/(?<![\w/+=-])[A-Za-z0-9_+/=]{32,}(?![\w/+=-])/g, 'long word'],
  [/(?<![\w.:T])\d{8,}(?![\w:]|\.\d)/g, 'number'],
];
