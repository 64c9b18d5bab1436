import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandsOf, type DocCommand, docPages } from '../docs/commands.js';
import { LEFT_OUT } from '../docs/left-out.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/client/cli/main.js');
const COMMAND_MS = 240_000;

/** Commands that end by Ctrl-C alone, and what they print before it. */
const ENDLESS: readonly { readonly begins: RegExp; readonly prints: RegExp }[] = [
  { begins: /^jobctl port-forward/u, prints: /127\.0\.0\.1:\d+/u },
  { begins: /^jobctl codec serve/u, prints: /http/u },
  { begins: /^jobctl worker /u, prints: /polls|ready/iu },
  { begins: /^jobctl logs \S+ --job -f/u, prints: /running/u },
  { begins: /^jobctl logs -f/u, prints: /loss/u },
  { begins: /^jobctl rehearsal (journal -f|script)/u, prints: /./u },
];

/** Commands that go on in a terminal of their own while the next one of their page is typed, and what they print before that. */
const BESIDE: readonly { readonly begins: RegExp; readonly prints: RegExp }[] = [
  { begins: /^npx jobctl submit .*--name fit/u, prints: /step 12 /u },
  { begins: /^npx jobctl submit .*--name try1/u, prints: /stored gs:/u },
];

const JOB = `name: train-7f3k
tpu: { accelerator: v5litepod-16, pricing: spot, zone: us-east5-a }
bundle: bundled
venv: { name: train, requirements_file: requirements.txt }
outputs: { every: 10s }
command: { run: "echo begun: loss 0.5; mkdir -p ~/logs; touch /tmp/trace.json $JOBCTL_OUTPUT_DIR/model; exec sleep 3600" }
`;

const spareJob = (page: string): string => `spare-${page.replaceAll(/\W/gu, '-').toLowerCase()}`;
/** The page before may have stopped the stack, let its API fail, given it a pool file, or ended the job. */
const BEGUN = [
  'jobctl dev up --no-pool-file --no-codec-key',
  'jobctl rehearsal fail --stop',
  'jobctl submit --local 7f3k.yaml --name train-7f3k',
  'jobctl logs -f train-7f3k | grep -m1 begun',
  'cp ../state/worker.json .',
  'timeout 120 bash -c "until jobctl outputs train-7f3k; do sleep 1; done"',
].join(' && ');
/** Exit codes that are what the reader wants: \`wait\` tells that the job was cancelled. */
const EXIT_CODES: readonly { readonly begins: RegExp; readonly code: number }[] = [
  { begins: /^jobctl list; jobctl cancel JOB; jobctl wait JOB/u, code: 130 },
];

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

interface Running {
  readonly ended: Promise<Ended>;
  hasEnded(): boolean;
  output(): string;
  /** As Ctrl-C. */
  interrupt(): void;
}

/** A researcher's folder, with what the pages speak of, in a home of its own with a local stack. */
class Reader {
  readonly home = mkdtempSync(join(tmpdir(), 'jobctl-docs-'));
  readonly folder = join(this.home, 'work');
  readonly #environment: Record<string, string>;
  #beside: Running | undefined;

  constructor() {
    for (const folder of [
      'bin',
      'work/node_modules/.bin',
      'work/configs',
      'work/bundled',
      'work/test/incidents',
      'state',
      'my-training',
    ])
      mkdirSync(join(this.home, folder), { recursive: true });
    symlinkSync(MAIN, join(this.home, 'bin/jobctl'));
    symlinkSync(MAIN, join(this.folder, 'node_modules/.bin/jobctl'));
    cpSync(join(ROOT, 'examples'), join(this.folder, 'examples'), { recursive: true });
    cpSync(join(ROOT, 'test/cli/migrating/jobman'), this.folder, { recursive: true });
    const files = {
      'work/package.json': '{}',
      'work/train.yaml': JOB.replace('train-7f3k', 'train').replace(/command: .*/u, 'command: { run: echo trained }'),
      'work/job.yaml': JOB.replace('train-7f3k', 'job').replace(/command: .*/u, 'command: { run: echo trained }'),
      'work/7f3k.yaml': JOB,
      'work/train.py': "print('trained')\n",
      'work/requirements.txt': '',
      'work/configs/small.json': '{}',
      'work/bundled/train.py': '',
      'work/spec.json': JSON.stringify({ name: 'x', command: 'python3 x.py', metadata: { resources: { v4: 8 } } }),
      'work/storm.yaml': readFileSync(join(ROOT, 'rehearsal/examples/no-notice.yaml'), 'utf8'),
      'my-training/train.py': "import os\nopen(os.environ['JOBCTL_OUTPUT_DIR'] + '/result', 'w').write('trained')\n",
      '.wandb-key': 'secret',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.home, name), text);
    symlinkSync(join(this.home, 'my-training'), join(this.folder, 'my-training'));
    this.#environment = {
      PATH: `${join(this.home, 'bin')}:${process.env['PATH'] ?? ''}`,
      HOME: this.home,
      XDG_CACHE_HOME: join(process.env['HOME'] ?? '/root', '.cache'),
      JOBCTL_HOME: join(this.home, 'state'),
      LANG: 'C.UTF-8',
    };
  }

  /** Runs a command to its end. */
  async runs(command: string, page: string): Promise<Ended> {
    const running = this.#starts(this.#mine(command, page), page);
    const endless = ENDLESS.find(({ begins }) => begins.test(command));
    const beside = BESIDE.find(({ begins }) => begins.test(command));
    const prints = (endless ?? beside)?.prints;
    if (prints !== undefined)
      await until(`${command} prints`, () => running.hasEnded() || prints.test(running.output()), COMMAND_MS - 10_000);
    if (beside !== undefined) {
      this.#beside = running;
      return { code: running.hasEnded() ? 1 : 0, output: running.output() };
    }
    if (endless !== undefined) running.interrupt();
    const { code, output } = await running.ended;
    return { code: endless !== undefined && (code === 130 || code === null) ? 0 : code, output };
  }

  /** The end of the command that was left running beside the others. */
  async beside(): Promise<Ended | undefined> {
    const ended = await this.#beside?.ended;
    this.#beside = undefined;
    return ended;
  }

  /** What a page calls JOB is a job of that page alone, and the computer's own files are left alone. */
  #mine(command: string, page: string): string {
    return command.replaceAll(/\bJOB\b/gu, spareJob(page)).replaceAll('/etc/jobctl/', `${this.folder}/`);
  }

  /** What a command exports, and where it goes, holds for the next one of its page. */
  #starts(command: string, page: string): Running {
    const state = join(this.home, `${page.replaceAll('/', '-')}.state`);
    const before = existsSync(state) ? `. '${state}'\n` : `cd '${this.folder}'\n`;
    const script = `${before}set -a\n${command}\ncode=$?\n{ export -p; printf 'cd %q\\n' "$PWD"; } > '${state}'\nexit $code`;
    const child = spawn('bash', ['-c', script], {
      env: this.#environment,
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    let hasEnded = false;
    const ended = new Promise<Ended>((resolve) =>
      child.once('close', (code) => {
        hasEnded = true;
        resolve({ code, output });
      }),
    );
    return {
      ended,
      hasEnded: () => hasEnded,
      output: () => output,
      interrupt: () => void (!hasEnded && child.pid !== undefined && process.kill(-child.pid, 'SIGINT')),
    };
  }

  async leave(): Promise<void> {
    await this.runs('jobctl dev down', 'leave');
    rmSync(this.home, { recursive: true, force: true });
  }
}

describe('commands of the documentation', function () {
  this.timeout(COMMAND_MS + 10_000);
  let reader: Reader;
  const commands = docPages(ROOT).flatMap((page) => commandsOf(ROOT, page));
  const isLeftOut = ({ text }: DocCommand): boolean => LEFT_OUT.some(({ begins }) => begins.test(text));

  before(() => {
    reader = new Reader();
  });
  after(() => reader.leave());

  for (const [index, { begins, why }] of LEFT_OUT.entries()) {
    it(`${index + 1}. left out: ${why}`, () =>
      assert.ok(
        commands.some(({ text }) => begins.test(text)),
        `no page has ${String(begins)}`,
      ));
  }

  for (const page of new Set(commands.filter((one) => !isLeftOut(one)).map((one) => one.page))) {
    describe(page, () => {
      before(async function () {
        this.timeout(TEMPORAL_START_MS);
        await passes(BEGUN, 'before');
        if (commands.some((one) => one.page === page && /\bJOB\b/u.test(one.text)))
          await passes(`jobctl submit --local 7f3k.yaml --name ${spareJob(page)}`, 'before');
      });
      for (const { text, line } of commands.filter((one) => one.page === page && !isLeftOut(one)))
        it(`${line}: ${text.split('\n')[0] ?? ''}`, () => passes(text, page));
      it('ends what was left running', async () => {
        const ended = await reader.beside();
        assert.ok(ended === undefined || ended.code === 0, ended?.output);
      });
    });
  }

  async function passes(command: string, page: string): Promise<void> {
    const { code, output } = await reader.runs(command, page);
    assert.equal(code, EXIT_CODES.find(({ begins }) => begins.test(command))?.code ?? 0, output);
  }
});
