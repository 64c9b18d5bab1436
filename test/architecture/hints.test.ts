import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { VERBS } from '../../cli/commands/verbs.js';
import { asTyped, knowVerbs } from '../../cli/terminal/print.js';

const CLI = fileURLToPath(new URL('../../cli', import.meta.url));
/** Text that is no hint of a moment: a file's content, what a shell reads, the name of a job without a file (`BY_FLAGS`). */
const NO_HINTS = new Set([
  ...['job/init/written-job.ts', 'job/job-file.ts', 'terminal/print.ts'],
  // Tables of docs/migrating.md; what verbs/import.ts prints of them passes through asTyped.
  ...['bastion-keys.ts', 'import-jobman.ts'].map((file) => `job/migrating/${file}`),
]);
/** Calls whose texts become an error or help, which main.ts and program.ts print as typed, or are typed already. */
const TYPED_BY = new Set([
  ...['asTyped', 'super', 'told', 'defineVerb', 'machineVerb', 'addHelpText', 'usage'],
  ...['notInstalled', 'mustBeAskable', 'storeOf', 'openWritableStore', 'readText', 'readFiles'],
]);
const NAMES = [...VERBS.map(({ name }) => name), 'help'];
const HINT = new RegExp(`(?<!npx )\\bjobctl (${NAMES.join('|')})\\b`);

interface Literal {
  readonly place: string;
  readonly text: string;
}

/** Literals with a command that would be printed as they are. */
function untyped(file: string, text: string): readonly Literal[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: Literal[] = [];
  const visit = (node: ts.Node): void => {
    if (isText(node) && HINT.test(node.getText(source)) && !isTyped(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      found.push({ place: `${file}:${line + 1}`, text: node.getText(source) });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const isText = (node: ts.Node): boolean =>
  ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node);

/** Inside a `new ..Error(..)`, a call of `TYPED_BY`, or a constant that is used only in these. */
function isTyped(node: ts.Node, depth = 0): boolean {
  for (let at: ts.Node = node; !ts.isSourceFile(at); at = at.parent) {
    if (ts.isNewExpression(at)) return true;
    if (ts.isCallExpression(at) && TYPED_BY.has(calledName(at))) return true;
    if (ts.isFunctionLike(at)) return false;
    if (ts.isVariableDeclaration(at) && ts.isIdentifier(at.name) && depth < 3) {
      const uses = usesOf(at.name, at.parent.parent.parent);
      return uses.length > 0 && uses.every((use) => isTyped(use, depth + 1));
    }
  }
  return false;
}

function calledName({ expression }: ts.CallExpression): string {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
}

/** @param scope the block that declares it */
function usesOf(name: ts.Identifier, scope: ts.Node): readonly ts.Identifier[] {
  const uses: ts.Identifier[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && node.text === name.text && node !== name) uses.push(node);
    ts.forEachChild(node, visit);
  };
  visit(scope);
  return uses;
}

describe('printed commands', () => {
  it('are printed as jobctl was called: no module of the command line prints one literally', () => {
    const files = readdirSync(CLI, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    assert.ok(files.length > 150, String(files.length));
    const found = files
      .filter((file) => !NO_HINTS.has(file))
      .flatMap((file) => untyped(file, readFileSync(join(CLI, file), 'utf8')));
    const told = found.map(({ place, text }) => `${place}: ${text}`);
    assert.equal(told.length, 0, `put asTyped(..) around it (cli/terminal/print.ts):\n${told.join('\n')}`);
  });

  it('would be found: a literal in a template, in a string, in a constant that is printed', () => {
    const lines = {
      'const a = (id: string) => say(`\\`jobctl logs ${id}\\` shows it`);': 1,
      "say('jobctl dev up');": 1,
      "const HINT = 'jobctl dev up'; say(HINT);": 1,
      "say(asTyped('jobctl dev up'));": 0,
      "const HINT = 'jobctl dev up'; throw new CliError(2, HINT);": 0,
      "say('jobctl keeps logs');": 0,
      "say('npx jobctl dev up');": 0,
    };
    for (const [line, count] of Object.entries(lines)) assert.equal(untyped('x.ts', line).length, count, line);
  });

  it('under npx are npx commands, and prose stays prose', () => {
    knowVerbs(NAMES);
    const npx = { npm_command: 'exec' };
    assert.equal(
      asTyped('start one with `jobctl dev up`, or npx jobctl list', npx),
      'start one with `npx jobctl dev up`, or npx jobctl list',
    );
    assert.equal(
      asTyped('jobctl keeps logs; @jobctl worker; a jobctl job file', npx),
      'jobctl keeps logs; @jobctl worker; a jobctl job file',
    );
    assert.equal(asTyped('`jobctl logs x`', {}), '`jobctl logs x`');
  });
});
