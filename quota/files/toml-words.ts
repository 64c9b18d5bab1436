/** Problems of a text that is not TOML, by the messages of the parser, which are for programmers. */
const WORDS: Readonly<Record<string, string>> = {
  'Unterminated string constant': 'a quote is not closed in this line',
  'Unterminated table-key': 'a bracket of this [table] is not closed',
  'Unterminated array': 'a list is not closed: ] is missing',
  'Unterminated inline table': 'a table in braces is not closed: } is missing',
  'Empty bare keys are not allowed': 'a key is missing before this',
  'Must be a newline': 'something stands behind the end of the value; one key = value on a line, and text in quotes',
  'Expected equal (=) token': 'a line of the file is key = value; = is missing',
  'Unspecified values are invalid': 'a value is missing, or text is not in quotes: key = "value"',
  'Expected comma (,) token': 'a comma is missing',
  'Defining a key multiple times is invalid': 'the key is there twice',
  'Unexpected character': 'a character that TOML does not expect here; text stands in quotes',
  'Unexpected token': 'this does not belong here; a line is key = value, and text stands in quotes',
  'The key, equals sign, and value must be on the same line': 'key, = and value belong on one line',
  'Underscores are allowed between digits': 'an underscore in a number stands between two digits',
  'Unexpected spaces': 'a blank that does not belong here',
  'Three or more quotes are not permitted': 'three quotes in a row inside a text',
  'Unexpected invalid date': 'this is not a date; text stands in quotes',
  'Unexpected invalid time': 'this is not a time; text stands in quotes',
  'Leading zeros are not allowed': 'a number does not begin with 0; text stands in quotes',
  'Trailing comma is not permitted in an inline table': 'a comma before the } of a table in braces',
  'Invalid character in escape sequence': String.raw`a backslash that TOML does not know; write \\ for one, or use single quotes`,
  'nested too deeply': 'nested too deeply',
};

/** @param message of the parser */
export const tomlWords = (message: string): string =>
  WORDS[message] ?? 'this is not as TOML wants it; a line is key = value, or [table], and text stands in quotes';
