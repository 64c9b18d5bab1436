import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** types/ms.d.ts: without it a duration is `any` (facts/temporal.md 0, trap 2). */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const errorsIn = (source: string): readonly string[] => {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, ts.sys.readFile) as { config: object };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const file = `${ROOT}test/architecture/in-memory.ts`;
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists.call(host, name);
  host.getSourceFile = (name, language) =>
    name === file ? ts.createSourceFile(name, source, language) : getSourceFile.call(host, name, language);
  const program = ts.createProgram([file, `${ROOT}types/ms.d.ts`], options, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
};

describe('a duration', function () {
  this.timeout(60_000);

  it("of no known unit does not compile: sleep('bogus')", () => {
    const source = (duration: string): string =>
      `import { sleep } from '@temporalio/workflow';\nexport const wait = () => sleep('${duration}');\n`;
    assert.deepEqual(errorsIn(source('5 minutes')), []);
    assert.match(errorsIn(source('bogus')).join('\n'), /'"bogus"' is not assignable to parameter of type 'Duration'/);
  });
});
