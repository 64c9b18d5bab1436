import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { analyse } from 'scslre';
import ts from 'typescript';
import { committedSources } from './committed-sources.js';

const FOLDERS = [
  'domain',
  'quota',
  'contract',
  'workflows',
  'activities',
  'cloud',
  'server',
  'client',
  'cli',
  'worker',
];

/** Expressions that are made of text, and why that text is nobody's who could make them slow. Foreign text is for RE2 (`re2js`). */
const MADE: Readonly<Record<string, string>> = {
  'cli/job/init/written-job.ts': 'of constants',
  'cli/doctor/recordings/scrub.ts': 'of names, each letter by letter',
  'domain/progress-marks.ts': 'of constants',
  'cli/commands/stack.ts': "--progress: the caller's own pattern, on their own computer",
  'cli/terminal/print.ts': 'of the names of verbs',
  'client/export/pseudonyms.ts': 'of constants',
  'client/job-query.ts': 'of the form of suffixes',
  'cloud/job-keys/open-job-keys.ts': 'of a number',
  'domain/job-file/foreign/batch-script.ts': 'of constants',
  'domain/job-file/interpolation.ts': 'of REFERENCE',
  'domain/job-file/secret-looks.ts': 'of constants',
  'domain/machine-kinds/compute-engine/words.ts': 'of constants',
  'domain/machine-kinds/machines/words.ts': 'of letters, digits and constants',
  'domain/modules/docker.ts': 'of constants',
  'cloud/store/port.ts': 'of the globs of store-layout.ts and open-store.ts, of which none has more than two stars',
  'quota/published-state.ts': 'of a number',
};

interface Found {
  readonly place: string;
  readonly text: string;
}

function walk(file: string, source: string): { readonly literals: readonly Found[]; readonly made: readonly string[] } {
  const [literals, made]: [Found[], string[]] = [[], []];
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
      literals.push({ place: `${file}:${line + 1}`, text: node.text });
    }
    const isCall = ts.isNewExpression(node) || ts.isCallExpression(node);
    if (isCall && node.expression.getText(tree) === 'RegExp') made.push(file);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return { literals, made };
}

/** Whether the file may have an expression: most time goes into parsing. Of import lines and comments nothing is one. */
function mayHaveExpressions(source: string): boolean {
  const code = source.replaceAll(/^(?:(?:import|export|\}) [^\n]* from '[^'\n]*';| *\/?\*[^\n]*| *\/\/[^\n]*)$/gm, '');
  return /\/(?![/*])[^\n]*\/|\bRegExp\b/.test(code);
}

/** Whether some text makes the expression take more steps than it is long, times a constant. */
function isSlow(text: string): boolean {
  const [, source = '', flags = ''] = /^\/(.*)\/([a-z]*)$/s.exec(text) ?? [];
  return analyse({ source, flags }).reports.length > 0;
}

/** docs/adr/0095: text from outside meets no expression that backtracks. */
describe('regular expressions', function () {
  this.timeout(60_000);
  const found = committedSources(FOLDERS).flatMap((file) => {
    const source = readFileSync(file, 'utf8');
    return mayHaveExpressions(source) ? [walk(file, source)] : [];
  });

  it('of the sources take linear time', () => {
    const literals = found.flatMap((each) => each.literals);
    assert.ok(literals.length > 400, String(literals.length));
    const slow = literals.filter(({ text }) => isSlow(text)).map(({ place, text }) => `${place}: ${text}`);
    assert.deepEqual(slow, []);
  });

  it('are made of text where this test says whose it is', () => {
    const made = new Set(found.flatMap((each) => each.made));
    assert.deepEqual([...made].toSorted(), Object.keys(MADE).toSorted());
  });

  it('that are slow, or made of foreign text, are seen', () => {
    for (const text of ['/\\/+$/', '/(a+)+b/', '/\\s*\\n\\s*$/', '/^(\\w+\\s?)*$/']) assert.ok(isSlow(text), text);
    for (const text of ['/(?<!\\/)\\/+$/', '/^[a-z]{1,63}$/']) assert.ok(!isSlow(text), text);
    assert.deepEqual(walk('x.ts', 'const a = new RegExp(name); RegExp(b)').made, ['x.ts', 'x.ts']);
  });
});
