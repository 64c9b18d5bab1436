import type { ErrorCode, YAMLError } from 'yaml';

/** Limit of levels: more than any job file has, and few enough for all code that walks through them. */
export const MOST_LEVELS = 30;
/** A text too deep to be read at all is also too deep for a job file. */
export const TOO_DEEP = `sections and lists lie more than ${MOST_LEVELS} levels deep in one another here`;
/** A text with so many keys also has too many values, but finding that would take half a minute. */
export const TOO_MANY_KEYS = 'more keys than any job file has; put long lists into a file of the job (files:, bundle:)';
/** A value that contains itself. */
export const IN_ITSELF = 'an alias (*name) inside of the value that its anchor (&name) names; write the value itself';

const QUOTES = "put the text in quotes if it is meant as text: 'a: b'";

const WORDS: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'an alias (*name) takes neither an anchor nor a tag',
  BAD_ALIAS: 'an alias (*name) without the anchor (&name) that it names',
  BAD_COLLECTION_TYPE: 'a tag (!) that does not fit a list or a section',
  BAD_DIRECTIVE: `a line that begins with % is for YAML itself; ${QUOTES}`,
  BAD_DQ_ESCAPE: String.raw`a backslash that YAML does not know in double quotes; write \\ for one, or use single quotes`,
  BAD_INDENT: 'this line is not indented as the lines around it',
  BAD_PROP_ORDER: 'an anchor (&) or tag (!) stands in the wrong place',
  BAD_SCALAR_START: `a text may not begin with this character; ${QUOTES}`,
  BLOCK_AS_IMPLICIT_KEY: `a second key in one line; ${QUOTES}`,
  BLOCK_IN_FLOW: 'lines of key: value or of a list inside brackets; write {key: value} or [a, b] there',
  DUPLICATE_KEY: 'the key is there twice',
  IMPOSSIBLE: 'a character that YAML does not expect here',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters; is a colon or a quote missing?',
  MISSING_CHAR: 'a bracket, quote, comma or colon is missing here or before',
  MULTILINE_IMPLICIT_KEY: 'a key that goes on over several lines; is a colon missing, or a quote not closed?',
  MULTIPLE_ANCHORS: 'two anchors (&) at one value',
  MULTIPLE_DOCS:
    'more than one document, where one job is wanted (`submit` and `validate` take several, with --- before each)',
  MULTIPLE_TAGS: 'two tags (!) at one value',
  NON_STRING_KEY: 'a key must be a text',
  RESOURCE_EXHAUSTION: 'its aliases (*) multiply beyond measure',
  TAB_AS_INDENT: 'a tab as indentation; YAML takes spaces',
  TAG_RESOLVE_FAILED: 'a tag (!) that plain YAML does not have',
  UNEXPECTED_TOKEN: `this does not belong here: is the line indented as it should be? ${QUOTES}`,
};

/** The problem of a text that is not YAML, in words for people who write job files: the parser's words are for programmers. */
export function yamlWords({ code, message }: Pick<YAMLError, 'code' | 'message'>): string {
  const bracket = code === 'BAD_INDENT' ? /^Flow .* end with an? ([\]}])/.exec(message)?.[1] : undefined;
  return bracket === undefined ? WORDS[code] : `a bracket is not closed before this line: ${bracket} is missing`;
}

/** Problems without a common cause. Any other often causes those behind it, so only the first is shown. */
export const INDEPENDENT: ReadonlySet<ErrorCode> = new Set(['DUPLICATE_KEY', 'TAG_RESOLVE_FAILED']);
