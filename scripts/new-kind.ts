import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatted } from './formatted.js';
import { kindFiles, kindNames } from './new-kind/skeleton.js';

/** `npm run new:kind ec2`: writes the skeleton of a kind of machines, and its registry rows (docs/machines.md, "A new kind"). */
const [name = ''] = process.argv.slice(2);
if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
  process.stderr.write('npm run new:kind NAME: small letters, digits and dashes, such as ec2\n');
  process.exit(2);
}
const names = kindNames(name);
const { type } = names;

for (const [file, text] of Object.entries(kindFiles(names))) {
  if (existsSync(file)) throw new Error(`${file} is there already`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, await formatted(file, text));
  process.stdout.write(`added    ${file}\n`);
}

const REGISTRY = 'domain/machine-kinds/registry.ts';
const key = name.includes('-') ? `'${name}'` : name;
const rows: readonly (readonly [before: string, row: string])[] = [
  ["import { machines } from './machines/index.js';", registryImports()],
  [
    '  readonly machines: { readonly ref: MachinesRef;',
    `  readonly ${key}: { readonly ref: ${type}Ref; readonly plan: ${type}Plan; readonly request: ${type}Section };\n`,
  ],
  ["  machines,\n  'compute-engine'", `  ${key === names.value ? key : `${key}: ${names.value}`},\n`],
  ['  machines: undefined,', `  ${names.section}: undefined,\n`],
];
let registry = readFileSync(REGISTRY, 'utf8');
for (const [before, row] of rows) {
  if (!registry.includes(before)) throw new Error(`${REGISTRY}: no line ${before}`);
  registry = registry.replace(before, () => `${row}${before}`);
}
writeFileSync(REGISTRY, await formatted(REGISTRY, registry));
process.stdout.write(`touched  ${REGISTRY}
Next: npx tsc --noEmit -p . names the rows that are missing; then fill in every todo() of the new files, until
npx mocha test/architecture/machine-kinds.test.ts is green (test/cloud/${name}-machines.test.ts is so already);
then npx tsx scripts/write-schemas.ts.
`);

function registryImports(): string {
  return `import { ${names.value} } from './${name}/index.js';
import type { ${type}Plan, ${type}Ref, ${type}Section } from './${name}/words.js';
`;
}
