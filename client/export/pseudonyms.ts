import { createHmac, randomBytes } from 'node:crypto';
import { OWN_ID_PREFIXES, TASK_QUEUE } from '../../domain/temporal-server.js';

/**
 * Words of sentences that an export keeps: those of providers' refusals and workers' reasons. Beside them it keeps Google's
 * names, and masks every other word. The list is closed, so some masked sentences read badly. A word that the user has as a name
 * is masked in sentences too (`Pseudonyms.said`).
 */
export const PLAIN_WORDS: ReadonlySet<string> = listed(`
about accelerator accelerators accept accepted access account accounts activity additional address after again against all allocated
allocation allow allowed already also and another answer answered answers any api are argument ask asked asks attempt attempts available
back backend because been before began begin being beside between both bought bucket budget build but bytes
call calls can cancel cancelled cannot capacity cause change changed changes check chips cloud cluster code command compute condition
configuration connect connection container contains control could create created creating credentials
deadline default deleted deleting deletion denied deny device did directly disabled disk does done down due during
each empty enabled end ended ends enough error errors event evicted exceed exceeded exhausted existing exists exit exited expired
fail failed failure fault few file files first for forbidden foreign found from
gang generation get given gives goes going gone google grace grant granted group
had has have having held hold holds host hosts how however
image in information inside installation instance instances insufficient internal interrupted invalid is it its itself
job jobs keep kept kernel key killed
large last late later least lease less limit limits line lines list listed listing location locations longer lost
machine machines made maintenance makes many maximum may memory message metadata method minutes missing module modules moment
more most must
named needed needs network never new next no node nodes none nor not nothing notice now number
of off offline old on once one only open operation operations or order other others out output outputs over own
page parameter parent part pass path per permission pick place please pod pods pool port preempted preemption preemptible pricing
priority problem process processes project projects provider provisioned put
query queue queued queuing quota quotas
ran rate reached read ready reason received refused refuses release released removed repeated replaced report reported request
requested requests required reservation reserved resource resources restart result resume retried retries retry returned right
run running runs runtime
said same satisfied saved says second seconds seen sent server service setting setup should shut shutting sign signal since size
slice slices soon spot stale start started starting starts state status still stockout stop stopped stopping storage store stored
such suspended system
take taken takes task tells temporarily terminated termination than that the their them then there these they things think this
those time timed timeout times told too total tpu tpus tries true try trying turn twice type types
unable unavailable unexpected unknown unreachable until usage use used user uses using utc
valid value values version wait waited waiting waits want wanted wants was watch well went were what when where which while who
whole why will with within without word work worker workers works would write written wrong yet you your zone zones`);

/** Words in Google's and Kubernetes' names of machines, systems and rights. They are kept in fields that hold such names. */
const PUBLIC_WORDS: ReadonlySet<string> = listed(`
v5litepod v5lite tpu7x tpuv5 tpuv6 tpuv6e tpuv7 trillium ironwood tpu tpus alpha base lite ubuntu2204 ubuntu debian
standard highmem highcpu highgpu megagpu ultragpu edgegpu maxgpu hightpu medium micro small custom n2d t2d c2d c3d c4a g2
podslice nvidia tesla l40s h100 h200 gb200 b200 mega ultra rtx pro
linux amd64 arm64 python cloud google cluster zone region any balanced extreme hyperdisk
auth platform compute devstorage storage https www googleapis com readonly readwrite read write full control only`);

function listed(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

/**
 * Replaces words by others of the same length and kinds of characters. Equal words get equal masks, so names, paths and ids that
 * workflow code derives from them stay equal too. The key is random and not stored: nobody can test a guessed word.
 */
export class Pseudonyms {
  readonly #key = randomBytes(32);
  readonly #masks = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #users = new Set<string>();
  readonly #texts = new Map<string, number>();
  readonly #addresses = new Map<string, number>();
  readonly #kept = new Set<string>();

  /** Keeps a run id of Temporal: it is random, and seeds the random numbers of workflow code. */
  keepRunId(id: string): void {
    if (UUID.test(id)) this.#kept.add(id);
  }

  isRunId(text: string): boolean {
    return this.#kept.has(text);
  }

  /** Whether this word has occurred in a field of the user's. */
  isUsers(word: string): boolean {
    return this.#users.has(word.toLowerCase());
  }

  /** Redacts a name, path, image, or key of a map: only its form is kept. */
  user(text: string): string {
    const [scheme = ''] = SCHEME.exec(text) ?? [];
    const rest = text.slice(scheme.length);
    return scheme + (RESOURCE.test(rest) ? this.#path(rest) : this.#user(rest));
  }

  /** Redacts a workflow's id or a queue's name, except for a prefix of jobctl's. */
  id(text: string): string {
    const prefix = OWN_STARTS.find((own) => text.startsWith(own)) ?? '';
    return prefix + this.#user(text.slice(prefix.length));
  }

  /** Redacts a name of Google's, such as a machine type, except for public words. */
  publicName(text: string): string {
    return this.#each(text, (word) => (isPublic(word.toLowerCase()) ? word : this.#word(word)));
  }

  /** Redacts a sentence. Lines after the first are removed completely. */
  said(text: string): string {
    const [first = '', ...rest] = text.split('\n');
    const kept = this.#each(first, (word) => (this.#isPlain(word.toLowerCase()) ? word : this.#mask(word)));
    return rest.length === 0 ? kept : `${kept}\n${this.secret(rest.join('\n'))}`;
  }

  /** Redacts a text completely. */
  secret(text: string): string {
    const number = this.#texts.get(text) ?? this.#texts.size + 1;
    this.#texts.set(text, number);
    return `redacted ${number}`;
  }

  #isPlain(word: string): boolean {
    return (PLAIN_WORDS.has(word) || isPublic(word)) && !this.#users.has(word);
  }

  #user(text: string): string {
    return this.#each(text, (word) => this.#word(word));
  }

  #word(word: string): string {
    this.#users.add(word.toLowerCase());
    return this.#mask(word);
  }

  /** In `projects/P/zones/Z/disks/NAME` Google's nouns stay, and the names after them are redacted. */
  #path(text: string): string {
    let isName = false;
    const parts = text.split('/');
    const shown = parts.map((part, at) => {
      const isFamily = part === 'family' && parts[at - 1] === 'images' && at + 1 < parts.length;
      const isNoun = isFamily || (!isName && NOUNS.has(part));
      isName = isNoun && part !== 'global';
      return isNoun ? part : this.#user(part);
    });
    return shown.join('/');
  }

  #each(text: string, redact: (word: string) => string): string {
    return text.replace(STRUCTURE, (part) => this.#structure(part) ?? redact(part));
  }

  /** Returns the replacement of a part that is no plain word, such as a time or an address. Undefined: the part is a word. */
  #structure(part: string): string | undefined {
    if (UUID.test(part)) return this.#kept.has(part) ? part : part.replace(WORD, (word) => this.#mask(word));
    if (ADDRESS.test(part)) return this.#address(part);
    return TIME.test(part) || PLACE.test(part) || SMALL.test(part) ? part : undefined;
  }

  #address(address: string): string {
    if (address.startsWith('127.') || address === '0.0.0.0') return address;
    const number = this.#addresses.get(address) ?? this.#addresses.size + 1;
    this.#addresses.set(address, number);
    return `10.0.${number >> 8}.${number & 255}`;
  }

  /** Replaces a part by its mask. The mask of a lower-case part is lower-case, as names must be. */
  #mask(part: string): string {
    if (SMALL.test(part)) return part;
    const lower = part.toLowerCase();
    let mask = this.#masks.get(lower);
    for (let turn = 0; mask === undefined; turn++) {
      const candidate = this.#drawn(lower, turn);
      const says = candidate === lower || SMALL.test(candidate) || PLAIN_WORDS.has(candidate);
      if (turn < MOST_TURNS && (says || this.#taken.has(candidate))) continue;
      mask = candidate;
    }
    this.#masks.set(lower, mask);
    this.#taken.add(mask);
    const masked = mask;
    return Array.from(part, (char, at) => (/\p{Lu}/u.test(char) ? masked[at]?.toUpperCase() : masked[at])).join('');
  }

  #drawn(lower: string, turn: number): string {
    const chars = Array.from(lower);
    let bytes = Buffer.alloc(0);
    for (let block = 0; bytes.length < chars.length; block++)
      bytes = Buffer.concat([bytes, createHmac('sha256', this.#key).update(`${turn} ${block} ${lower}`).digest()]);
    const letters = /^(?=.*\d)[0-9a-f]{6,}$/.test(lower) ? 'abcdef' : 'abcdefghijklmnopqrstuvwxyz';
    return chars
      .map((char, at) => {
        const byte = bytes[at] ?? 0;
        if (/\d/.test(char)) return at === 0 && char !== '0' ? String(1 + (byte % 9)) : String(byte % 10);
        return letters[byte % letters.length];
      })
      .join('');
  }
}

/** Whether a word is public. It may have a number at its end, as in `python3`. */
const isPublic = (word: string): boolean => PUBLIC_WORDS.has(word) || PUBLIC_WORDS.has(word.replace(/\d{1,4}$/, ''));

const MOST_TURNS = 200;
const OWN_STARTS = [...Object.values(OWN_ID_PREFIXES), TASK_QUEUE];
const SCHEME = /^(?:https?|ssh|git|gs|s3|docker):\/\//;
const RESOURCE = /^(?:projects|folders|organizations)\/[^/]+\/(?:zones|regions|locations|global|reservations)\//;
const NOUNS: ReadonlySet<string> = new Set([
  ...['projects', 'folders', 'organizations', 'zones', 'regions', 'locations', 'global'],
  ...['disks', 'networks', 'subnetworks', 'reservations', 'images'],
]);
const WORD = /[\p{L}\p{N}]+/gu;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?$/;
/** Public names: zones and types of Google, and the domain of its accounts. */
const PLACE =
  /^(?:(?:africa|asia|australia|europe|me|northamerica|southamerica|us)-[a-z]+\d+(?:-[a-z])?|v\d[a-z]*-\d+|(?:iam\.|developer\.)?gserviceaccount\.com|sha256|jobctl)$/i;
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}$/;
/** Counts, durations, sizes, topologies, and words of two letters, as in jobctl's own names (`jc`, `-s0`, `-g12`). */
const SMALL =
  /^(?:\p{L}{1,2}|\p{L}?\d{1,3}\p{L}?|\d{1,4}(?:ms|s|m|h|d|mb|gb|mib|gib|mi|gi|ti|ki)|\d{1,3}(?:x\d{1,3}){1,2})$/iu;
const bare = ({ source }: RegExp): string => source.replace(/^\^|\$$/g, '');
const STRUCTURE = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${[UUID, TIME, PLACE, ADDRESS].map(bare).join('|')})(?![\\p{L}\\p{N}])|[\\p{L}\\p{N}]+`,
  'giu',
);
