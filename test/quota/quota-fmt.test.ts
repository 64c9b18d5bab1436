import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parse } from 'toml';
import { formatProblems } from '../../domain/problem.js';
import { formatToml } from '../../quota/files/quota-fmt.js';

function format(text: string): string {
  const formatted = formatToml(text, 'q.toml');
  assert.ok(formatted.ok, formatted.ok ? '' : formatProblems(formatted.problems));
  return formatted.text;
}

const UNTIDY = `#  of the lab
[toml-schema]
version="1"


[[  total_resources]]
v4   =   1024 # cores
v5litepod=16
  # of two kinds

  v6e=8
[project_membership]
a=["u1" , 'b.*']   # quoted
"team b" = [
"x",  # one
    "y"
  , ]
# shares
# of each
[ project_resources . a ]
v4=0.6
[project_resources]
b={v4 =0.4,v6e= 1}
c={}
`;

const TIDY = `#  of the lab
[toml-schema]
version = "1"

[[total_resources]]
v4        = 1024 # cores
v5litepod = 16
# of two kinds

v6e = 8

[project_membership]
a        = ["u1", 'b.*'] # quoted
"team b" = [
  "x", # one
  "y"
  ,]

# shares
# of each
[project_resources.a]
v4 = 0.6

[project_resources]
b = { v4 = 0.4, v6e = 1 }
c = {}
`;

describe('quota fmt', () => {
  it('gives a file its normal spacing; comments and order stay', () => assert.equal(format(UNTIDY), TIDY));
  it('a file in it stays as it is', () => assert.equal(format(TIDY), TIDY));
  it('a text of several lines is kept byte for byte', () => {
    const text = 'script = """\n  a  =  1\n\n\n  # no comment\n"""\n';
    assert.equal(format(text), text);
  });
  it('line ends become those of jobctl', () => assert.equal(format('a=1\r\n\r\n# c \r\nb=2'), 'a = 1\n\n# c\nb = 2\n'));
  it('an empty file stays empty', () => assert.equal(format(''), ''));
  it('what is no TOML is refused with its place', () => {
    const refused = formatToml('a = \n', 'q.toml');
    assert.equal(
      refused.ok ? '' : formatProblems(refused.problems),
      'q.toml:1:5: not TOML: a value is missing, or text is not in quotes: key = "value"',
    );
  });
  for (const name of ['quota.toml', 'pool.toml']) {
    it(`examples/${name} is in its normal spacing`, () => {
      const text = readFileSync(new URL(`../../examples/${name}`, import.meta.url), 'utf8');
      assert.equal(format(text), text);
    });
  }
});

const RUNS = 100;

// Files with any spacing --------------------------------------------------------------------------------------------

const space = fc.constantFrom('', ' ', '  ', '\t');
const comment = fc.constantFrom('', '', '# c', '#c = 1', '## [x]  ').map((text) => (text === '' ? '' : ` ${text}`));
const lineEnd = fc
  .tuple(space, comment, fc.constantFrom('\n', '\n\n', '\r\n', '\n\n\n\n'))
  .map((parts) => parts.join(''));
const scalar = fc.constantFrom(
  '1',
  '0.5',
  '-3',
  '1e3',
  '"a # b"',
  "'x = [1]'",
  'true',
  'nan',
  '1979-05-27T07:32:00Z',
  '"""m\n\n  # n\n"""',
  '""',
);
const gap = fc.constantFrom('', ' ', '\n', '\n  ', ' # in\n', '\n\n\n');

const { value } = fc.letrec<{ value: string; list: string; table: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie('list'), tie('table')),
  list: fc
    .array(
      fc.tuple(gap, tie('value'), gap).map((parts) => parts.join('')),
      { maxLength: 4 },
    )
    .chain((items) =>
      fc
        .tuple(fc.boolean(), gap)
        .map(([hasComma, end]) => `[${items.join(',')}${hasComma && items.length > 0 ? ',' : ''}${end}]`),
    ),
  table: fc
    .array(fc.tuple(space, tie('value')), { maxLength: 3 })
    .map(
      (pairs) => `{${pairs.map(([blank, inner], at) => `${blank}k${at}${blank}=${blank}${inner}${blank}`).join(',')}}`,
    ),
}));

const pairs = (keys: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(space, space, value, lineEnd, fc.constantFrom('', '', '# alone\n', '   # moved\n\n')), {
      maxLength: 5,
    })
    .map((lines) =>
      lines
        .map(
          ([before, blank, inner, end, alone], at) =>
            `${alone}${before}${keys}${'x'.repeat(at)}${blank}=${blank}${inner}${end}`,
        )
        .join(''),
    );
const tables = fc
  .array(fc.tuple(space, fc.boolean(), lineEnd, pairs('key')), { maxLength: 4 })
  .map((all) =>
    all
      .map(
        ([blank, isArray, end, inner], at) =>
          (isArray ? `[[${blank}arr.t${at}${blank}]]` : `${blank}[${blank}"t ${at}"${blank}.${blank}b]`) + end + inner,
      )
      .join(''),
  );
const files = fc.tuple(pairs('top'), tables).map((parts) => parts.join(''));

describe('quota fmt, any file', () => {
  const comments = (text: string): readonly string[] => text.match(/# (in|alone|moved|c)\b/g) ?? [];
  it('means the same, keeps its comments in order, and twice is once', () => {
    let changed = 0;
    fc.assert(
      fc.property(files, (text) => {
        const formatted = format(text);
        assert.deepEqual(parse(formatted), parse(text.replaceAll('\r\n', '\n')));
        assert.deepEqual(comments(formatted), comments(text));
        assert.equal(format(formatted), formatted);
        if (formatted !== text) changed++;
      }),
      { numRuns: RUNS },
    );
    assert.ok(changed > RUNS / 2, `only ${changed} of ${RUNS} files needed formatting`);
  });
});
