import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * Writes client/export/known-words.ts: the words of jobctl's own texts, of Google's as the rehearsal knows them, and the keys of
 * what jobctl writes. An export keeps these words and no other (docs/adr/0050). A word that is missing is masked: run this after
 * keys of contract/ or domain/ changed (test/client/known-words.test.ts compares).
 */
const FILE = 'client/export/known-words.ts';
const FOLDERS = ['contract', 'domain', 'workflows', 'activities', 'quota', 'cloud', 'rehearsal'];
const words = new Set<string>();
for (const folder of FOLDERS)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.ts') && !/(^|\/)(test|dist|node_modules)\//.test(name)) read(join(folder, name));

const lines =
  [...words]
    .sort()
    .join(' ')
    .match(/.{1,120}(?: |$)/g) ?? [];
const list = lines.map((line) => line.trimEnd()).join('\n');
const head = '// Written by scripts/write-words.ts.\n';
writeFileSync(
  FILE,
  `${head}export const KNOWN_WORDS: ReadonlySet<string> = new Set(\n  \`${list}\`.split(/\\s/),\n);\n`,
);
process.stdout.write(`${FILE}: ${words.size} words\n`);

function read(file: string): void {
  const isOurs = !file.startsWith('rehearsal') && !file.startsWith('cloud');
  visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
  function visit(node: ts.Node): void {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateLiteralToken(node))
      for (const word of node.text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? []) take(word, isOurs);
    if ((ts.isPropertySignature(node) || ts.isPropertyAssignment(node)) && ts.isIdentifier(node.name))
      take(node.name.text, isOurs);
    if (ts.isMethodSignature(node) && ts.isIdentifier(node.name)) take(node.name.text, isOurs);
    ts.forEachChild(node, visit);
  }
}

/** Words with digits are names in most places: only those of our own data pass. */
function take(word: string, isOurs: boolean): void {
  if (word.length < 2 || word.length > 32 || (/\d/.test(word) && (!isOurs || word.length > 12))) return;
  words.add(word.toLowerCase());
}
