/** Replaced words and their placeholders: equal words have equal placeholders. */
export class Placeholders {
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

/** Google's project numbers have about twelve digits. */
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

/** The order matters: a key may have an e-mail address as its comment. */
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
