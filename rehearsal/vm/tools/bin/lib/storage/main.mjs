// gsutil VERB .. and gcloud storage VERB ..: reads the arguments, runs the verb, and fails with the tool's own error texts.
import * as client from './client.mjs';
import { copyAll, synchronise } from './copying.mjs';
import { parse, Refusal } from './urls.mjs';
import * as verbs from './verbs.mjs';

const [dialect, ...argv] = process.argv.slice(2);
const tool = dialect === 'gcloud' ? 'gcloud storage' : 'gsutil';
let label = ''; // the verb in the user's words, for errors
const say = (text) => process.stderr.write(`${text}\n`);

function notKnown(what) {
  say(`${tool}: ${what} is not known to this stand-in of the rehearsal (README of @jobctl/cloud-tpu-rehearsal)`);
  process.exit(127);
}

/** Options by verb: name to key. A key that ends in `=` takes a value; a `-` key is accepted and has no effect. */
const RECURSIVE = { '-r': 'recursive', '-R': 'recursive', '--recursive': 'recursive' };
const OPTIONS = {
  ls: { ...RECURSIVE, '-l': 'long', '--long': 'long', '-d': '-' },
  cat: { '-r': 'range=', '--range': 'range=' },
  cp: {
    ...RECURSIVE,
    '-n': 'noClobber',
    '--no-clobber': 'noClobber',
    '-c': '-',
    '-a': '-=',
    '-P': '-',
    '-J': '-',
    '-e': '-',
    '--if-generation-match': 'generation=',
    '--gzip-in-flight-all': '-',
  },
  mv: { ...RECURSIVE, '-n': 'noClobber', '--no-clobber': 'noClobber' },
  rm: { ...RECURSIVE, '-f': 'force', '-a': '-', '--continue-on-error': '-' },
  rsync: {
    ...RECURSIVE,
    '-d': 'deleteUnmatched',
    '--delete-unmatched-destination-objects': 'deleteUnmatched',
    '-n': 'dryRun',
    '--dry-run': 'dryRun',
    '-x': 'exclude=',
    '--exclude': 'exclude=',
    '-c': '-',
    '--checksums-only': '-',
    '-C': '-',
  },
  mb: {
    '-l': 'location=',
    '--location': 'location=',
    '-c': '-=',
    '-p': '-=',
    '--project': '-=',
    '-b': '-=',
    '--uniform-bucket-level-access': '-',
    '--default-storage-class': '-=',
  },
  rb: { '-f': 'force' },
  du: { '-s': 'summary', '--summarize': 'summary', '-h': '-', '-c': '-' },
  stat: {},
};
/** Options before the verb; with gcloud they may stand anywhere. */
const GLOBAL = {
  '-m': '-',
  '-q': '-',
  '--quiet': '-',
  '-D': '-',
  '-o': '-=',
  '-h': '-=',
  '--project': '-=',
  '--verbosity': '-=',
  '--no-user-output-enabled': '-',
};

/** gcloud's verbs of two words, with their names here. */
const GCLOUD_VERBS = {
  'objects describe': 'describe',
  'buckets create': 'mb',
  'buckets delete': 'rb',
  'buckets list': 'ls',
  'buckets describe': 'describe',
  'objects list': 'ls',
};

function readWords() {
  const words = [...argv];
  const options = {};
  const rest = [];
  let verb;
  if (dialect === 'gcloud') while (words.length > 0 && words.shift() !== 'storage');
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-' || !word.startsWith('-')) {
      if (verb === undefined) verb = verbOf(word, words);
      else rest.push(word);
      continue;
    }
    for (const each of splitOption(word, verb)) setOption(each, verb, options, words);
  }
  return { verb, options, rest };
}

function verbOf(word, words) {
  const pair = `${word} ${words[0] ?? ''}`;
  label = word;
  if (dialect !== 'gcloud' || !/^(buckets|objects)$/.test(word)) return word;
  label = pair.replace(' ', '.');
  if (GCLOUD_VERBS[pair] === undefined) notKnown(`the verb ${pair}`);
  words.shift();
  return GCLOUD_VERBS[pair];
}

const known = (verb) => ({ ...(verb === undefined || dialect === 'gcloud' ? GLOBAL : {}), ...OPTIONS[verb] });

/** Splits -rn into -r -n, unless -rn itself is an option. */
function splitOption(word, verb) {
  if (!/^-[A-Za-z]{2,}$/.test(word) || known(verb)[word] !== undefined) return [word];
  return [...word.slice(1)].map((letter) => `-${letter}`);
}

function setOption(word, verb, options, words) {
  const [name, inline] = word.startsWith('--') ? word.split(/=(.*)/s) : [word];
  const key = known(verb)[name];
  if (key === undefined) notKnown(`option ${name}${verb === undefined ? '' : ` of ${verb}`}`);
  const value = key.endsWith('=') ? (inline ?? words.shift() ?? notKnown(`${name} without a value`)) : true;
  options[key.replace('=', '')] = value;
}

async function run(verb, options, words) {
  const recursive = options.recursive === true;
  const least = { cp: 2, mv: 2, rsync: 2, cat: 1, rm: 1, du: 1, stat: 1, mb: 1, rb: 1, describe: 1 }[verb] ?? 0;
  if (words.length < least)
    throw new Refusal('usage', '', `The ${verb} command requires at least ${least} argument${least === 1 ? '' : 's'}.`);
  switch (verb) {
    case 'ls':
      return verbs.ls(words, { long: options.long === true, recursive });
    case 'cat':
      return verbs.cat(words, rangeOf(options.range));
    case 'cp':
    case 'mv':
      return copyAll(words, {
        recursive: recursive || verb === 'mv',
        noClobber: options.noClobber === true,
        move: verb === 'mv',
        say,
        ifGenerationMatch: options.generation,
      });
    case 'rm':
      return verbs.rm(words, { recursive, say });
    case 'rsync':
      return synchronise(words[0], words[1], {
        recursive,
        deleteUnmatched: options.deleteUnmatched,
        dryRun: options.dryRun,
        exclude: options.exclude && new RegExp(`^(?:${options.exclude})$`),
        say,
      });
    case 'du':
      return verbs.du(words, options.summary === true);
    case 'stat':
      return verbs.stat(words);
    case 'mb':
      for (const word of words) {
        say(`Creating ${word}...`);
        await client.createBucket(parse(word).bucket, options.location && { location: options.location });
      }
      return;
    case 'rb':
      for (const word of words) await client.deleteBucket(parse(word).bucket);
      return;
    case 'describe':
      return verbs.describe(words);
    case 'version':
      return void process.stdout.write('gsutil version: 5.34 (a stand-in of the rehearsal)\n');
    default:
      notKnown(`the verb ${verb ?? 'that is missing'}`);
  }
}

function rangeOf(text) {
  const match = /^(\d+)-(\d*)$/.exec(text ?? '');
  if (text !== undefined && match === null) notKnown(`the range ${text}`);
  return match === null ? undefined : { from: match[1], to: match[2] };
}

/** Error texts of gsutil 5.34 and of gcloud 528. */
function wordsOf(error, verb) {
  const gsutil = dialect === 'gsutil';
  const lead = `ERROR: (gcloud.storage.${label})`;
  if (error instanceof Refusal && error.kind === 'no-match') {
    if (gsutil)
      return verb === 'ls'
        ? 'CommandException: One or more URLs matched no objects.'
        : `CommandException: No URLs matched: ${error.url}`;
    return verb === 'ls'
      ? `${lead} One or more URLs matched no objects.`
      : `${lead} The following URLs matched no objects or files:\n-${error.url}`;
  }
  if (error instanceof Refusal && error.kind === 'is-folder') {
    return gsutil
      ? `Omitting directory "file://${error.url}". (Did you mean to do cp -r?)\nCommandException: No URLs matched`
      : `${lead} The following URLs matched no objects or files:\n-${error.url}`;
  }
  if (error instanceof client.StorageError) {
    if (gsutil)
      return `${error.status === 404 ? 'BucketNotFoundException' : error.status === 409 ? 'ServiceException' : 'AccessDeniedException'}: ${error.status} ${error.message}`;
    return `${lead} HTTPError ${error.status}: ${error.message}`;
  }
  const reason = error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
  return gsutil ? `CommandException: ${reason}` : `${lead} ${reason}`;
}

const { verb, options, rest } = readWords();
try {
  await run(verb, options, rest);
} catch (error) {
  say(wordsOf(error, verb));
  process.exitCode = 1;
}
