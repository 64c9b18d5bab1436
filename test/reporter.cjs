'use strict';
const childProcess = require('node:child_process');
const { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { basename, dirname, join, relative } = require('node:path');
const { reporters } = require('mocha');

/**
 * Mocha's output, closed by one line that a script can read: `N passed, M failed`. Files that run in processes of their own, as in
 * `npm test`, are counted, some to a line; what they and their children print goes to files, and is shown of those that fail.
 */
module.exports = function reporter(runner, options) {
  return new (runner.isParallelMode() ? Counts : ClosingSpec)(runner, options);
};

function printClosingLine({ passes, failures, pending }) {
  console.log(`${passes} passed, ${failures} failed${pending > 0 ? `, ${pending} skipped` : ''}`);
}

class ClosingSpec extends reporters.Spec {
  epilogue() {
    super.epilogue();
    printClosingLine(this.stats);
  }
}

const MOST_COLUMNS = 120;

class Counts extends reporters.Base {
  constructor(runner, options) {
    super(runner, options);
    this.logs = new Logs();
    this.line = '';
    this.failed = new Set();
    for (const event of ['pass', 'fail', 'pending']) runner.on(event, (test) => this.note(event, test));
    runner.once('end', () => this.epilogue());
  }

  note(event, test) {
    const file = fileOf(test);
    if (this.count?.file !== file) this.printCount();
    this.count ??= { file, pass: 0, fail: 0, pending: 0 };
    this.count[event]++;
    if (event !== 'fail') return;
    this.failed.add(file);
    this.print(`FAILED ${file}: ${test.fullTitle()}`, '\n');
    this.line = '';
  }

  /** Adds a file to the line of its folder. */
  printCount() {
    if (this.count === undefined) return;
    const { file, pass, fail, pending } = this.count;
    this.count = undefined;
    const more = [fail > 0 ? `${fail} failed` : '', pending > 0 ? `${pending} skipped` : ''].filter(Boolean);
    const word = [`${basename(file, '.test.ts')} ${pass}`, ...more].join(', ');
    const folder = `${dirname(file)}: `;
    const isNext = this.line.startsWith(folder) && this.line.length + word.length + 3 <= MOST_COLUMNS;
    this.print(isNext ? ` · ${word}` : `${folder}${word}`, isNext ? '' : '\n');
  }

  print(text, before) {
    process.stdout.write(`${before}${text}`);
    this.line = before === '' ? this.line + text : text;
  }

  epilogue() {
    this.printCount();
    process.stdout.write('\n');
    super.epilogue();
    this.logs.show(this.failed);
    console.log(`CPU seconds of files: ${this.logs.dearest().join(' · ')}`);
    this.logs.close(this.failed.size > 0);
    printClosingLine(this.stats);
  }
}

const fileOf = (test) => {
  for (let each = test; each; each = each.parent) if (each.file) return relative(process.cwd(), each.file);
  return 'no file';
};

const SHOWN_LINES = 40;
/** Files whose cost is shown, unless JOBCTL_TEST_COSTS says how many. */
const DEAREST = Number(process.env['JOBCTL_TEST_COSTS'] ?? 10);

/** What each of mocha's processes and its children print. test/root-hooks.ts writes a heading as each file begins, and its cost. */
class Logs {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'jobctl-test-logs-'));
    process.env['JOBCTL_TEST_LOGS'] = this.folder;
    const { fork } = childProcess;
    // Mocha starts its processes with its own streams, and has no option for others.
    childProcess.fork = (script, args, options) => {
      const log = openSync(join(this.folder, `process-${options.env.MOCHA_WORKER_ID}.log`), 'a');
      return fork(script, args, { ...options, stdio: ['ignore', log, log, 'ipc'] });
    };
  }

  /** The last lines of each failed file. */
  show(failed) {
    for (const file of failed) {
      const section = this.sectionOf(file);
      if (section === '') continue;
      const own = join(this.folder, `${file.replaceAll('/', '-')}.log`);
      writeFileSync(own, section);
      console.log(`${own}, its end:`);
      for (const line of section.trimEnd().split('\n').slice(-SHOWN_LINES)) console.log(`  | ${line}`);
    }
  }

  sectionOf(file) {
    for (const text of this.texts()) {
      const [, section] = text.split(`\n=== ${file}\n`);
      if (section !== undefined) return section.split('\n=== ')[0];
    }
    return '';
  }

  dearest() {
    const costs = this.texts().flatMap((text) => [...text.matchAll(/^=== CPU ([\d.]+) s (.+)$/gm)]);
    const sorted = costs.map(([, seconds, file]) => ({ seconds: Number(seconds), file }));
    sorted.sort((a, b) => b.seconds - a.seconds);
    const sum = sorted.reduce((total, { seconds }) => total + seconds, 0);
    return [`all ${sum.toFixed(0)}`, ...sorted.slice(0, DEAREST).map(({ seconds, file }) => `${file} ${seconds}`)];
  }

  texts() {
    if (!existsSync(this.folder)) return [];
    const names = readdirSync(this.folder).filter((name) => name.startsWith('process-'));
    return names.map((name) => readFileSync(join(this.folder, name), 'utf8'));
  }

  close(isKept) {
    if (!isKept) rmSync(this.folder, { recursive: true, force: true });
  }
}
