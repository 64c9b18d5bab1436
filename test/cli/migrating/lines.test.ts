import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { isForeign } from '../../../cli/job/migrating/foreign-words.js';
import {
  ASTERA_LINES,
  BASTION_LINES,
  type Example,
  JOBMAN_LINES,
  typedWords,
} from '../../../scripts/migrating-examples.js';
import { answerTo } from '../answer-to.js';
import { parseJobFile } from '../../../domain/job-file/parse.js';
import { runProgram } from '../../../cli/program.js';
import { shellWords, splitShellWords } from '../../../domain/shell-quote.js';
import { submitFlags } from '../../../cli/commands/verbs.js';
import { refusalOf } from '../command-line.js';
import { verbReached } from '../verb-reached.js';

const ALL: readonly Example[] = [...JOBMAN_LINES, ...BASTION_LINES, ...ASTERA_LINES];

/** The forms of docs/facts.md, "Predecessors": what their users type. */
const FORMS = readFileSync(new URL('./facts.txt', import.meta.url), 'utf8')
  .trim()
  .split('\n');

function wordsOf(line: string): readonly string[] {
  const words = splitShellWords(line.replace(/^(npx )?jobctl /, ''));
  assert.ok(words, line);
  return words;
}

const SUBMITS = submitFlags();
/** What Bastion calls so too, and what jobctl takes for the words of Bastion. */
const OF_BASTION: ReadonlySet<string> = new Set(['--name', '--priority', '--project', '--zone', '--dry-run']);

const split = (words: readonly string[]): readonly [readonly string[], readonly string[] | undefined] => {
  const end = words.indexOf('--');
  return end === -1 ? [words, undefined] : [words.slice(0, end), words.slice(end + 1)];
};

describe('command lines of the tools that jobctl replaces', () => {
  for (const example of ALL) {
    const words = wordsOf(typedWords(example));
    const [own, command] = split(words);
    const answer = isForeign(own) ? answerTo(own, command) : undefined;

    if (answer === undefined) {
      // A group with no verb prints its help.
      if (words.join(' ') === 'quota') continue;
      it(`${example.theirs}: is a line of jobctl`, async () => {
        const [verb, second, ...more] = words;
        await verbReached(verb === 'queue' ? ['list'] : second === 'submit' ? [verb ?? '', ...more] : words);
      });
      continue;
    }

    if (answer.runs !== undefined) {
      it(`${example.theirs}: runs`, async () => assert.equal(await verbReached(answer.runs ?? []), answer.runs?.[0]));
      continue;
    }

    it(`${example.theirs}: the message holds the line`, async () => {
      const { exitCode, text } = await refusalOf(words);
      assert.equal(exitCode, 2);
      const lines = answer.lines ?? [];
      for (const line of lines) assert.ok(text.includes(`\n  ${line}`), `${line} is not in\n${text}`);
      if (lines.length === 0) assert.match(text, /jobctl has none that does the same\n {2}\w/);
      for (const line of lines) {
        const [first = '', ...piped] = line.split(' | ');
        await verbReached(wordsOf(first));
        for (const part of piped.filter((each) => each.startsWith('xargs')))
          await verbReached([...wordsOf(part.replace(/^xargs -n1 /, '')), 'exp-1']);
      }
    });

    it(`${example.theirs}: no value of the user's is lost in silence`, async () => {
      const { text } = await refusalOf(words);
      // Names of a bastion, and what is a switch, are in the account of what is lost, or said to be elsewhere.
      const values = own
        .slice(1)
        .flatMap((word) => (/=(.+)$/.exec(word)?.[1] ?? '').split(/[:=]/))
        .filter(Boolean);
      for (const value of values.filter((each) => !SAID_ELSEWHERE.has(each)))
        assert.ok(text.includes(value.slice(0, 40)), `${value} is not in\n${text}`);
    });
  }

  const DRY = [
    ...['--dry-run', '--dry_run', '-dry_run', '-dry-run', '--dry_run=true', '--dry-run=True', '--dry_run=1'],
    '--dry_run=maybe',
  ];
  for (const dry of DRY)
    it(`${dry} in a line of another tool submits nothing`, async () => {
      let running = 0;
      for (const example of ALL) {
        const words = wordsOf(typedWords(example));
        const [own, command] = split(words);
        const answer = isForeign(own) ? answerTo(own, command) : undefined;
        if (answer?.runs === undefined || ['list', 'status'].includes(answer.runs[0] ?? '')) continue;
        running++;
        const places = own.length === 1 ? [1] : [own.length, own.findIndex((word) => word.startsWith('-'))];
        for (const place of places.filter((each) => each > 0)) {
          const asked = [...own.slice(0, place), dry, ...own.slice(place)];
          const runs = isForeign(asked) ? answerTo(asked, command)?.runs : asked;
          if (runs === undefined || runs.includes('--dry-run')) continue;
          await assert.rejects(verbReached(runs), /unknown option/, `${asked.join(' ')} runs ${runs.join(' ')}`);
        }
      }
      assert.ok(running > 5, `${running} lines that run`);
    });

  for (const dry of ['-dry_run', '--dry-run', '--dry_run=true'])
    it(`${dry} is no value of the flag before it`, () => {
      const line = ['launch', '--instance_type=v5litepod-8', '--bastion', dry];
      assert.ok(answerTo(line, ['python3', 't.py'])?.runs?.includes('--dry-run'));
    });

  for (const off of ['--nodry_run', '--dry_run=false', '--dry-run=False', '--dry_run=0'])
    it(`${off} submits`, () => {
      const line = ['axlearn', 'gcp', 'launch', '--instance_type=v5litepod-8', off];
      const { runs } = answerTo(line, ['python3', 't.py']) ?? {};
      assert.equal(runs?.[0], 'submit');
      assert.ok(!runs?.includes('--dry-run'));
    });

  const OF_SUBMIT = SUBMITS.map(({ long, argChoices }) => ({ flag: long ?? '', value: argChoices?.[0] })).filter(
    ({ flag }) => !OF_BASTION.has(flag),
  );
  for (const { flag, value } of OF_SUBMIT) {
    const isValued = SUBMITS.some((option) => option.long === flag && !option.isBoolean() && !option.negate);
    for (const words of isValued ? [[flag, value ?? '3'], [`${flag}=${value ?? '3'}`]] : [[flag]])
      it(`${words.join(' ')}, which only jobctl has, means in a line of Bastion's what it means in submit`, () => {
        for (const place of [2, 3]) {
          const line = ['launch', 'start', '--instance_type=v5litepod-8'].toSpliced(place, 0, ...words);
          const { runs, notes } = answerTo(line, ['python3', 't.py']) ?? {};
          assert.ok(runs?.join(' ').includes(isValued ? `${flag}=${value ?? '3'}` : flag), String(runs));
          assert.doesNotMatch(String(notes), new RegExp(`lost: ${flag}`));
        }
      });
  }

  it('--no-wait follows nothing', () => {
    const line = ['launch', '--instance_type=v5litepod-8', '--no-wait'];
    assert.deepEqual(
      answerTo(line, ['python3', 't.py'])?.notes,
      answerTo(line.slice(0, 2), ['python3', 't.py'])?.notes,
    );
    assert.doesNotMatch(String(answerTo(['launch', 'run', ...line.slice(1)], ['x'])?.lines), /--wait/);
  });

  it('every form of the facts is an example, with all its flags', () => {
    const typed = ALL.map((example) => typedWords(example));
    for (const form of FORMS) {
      const [verb = '', ...rest] = form.replace(/ -- CMD$/, '').split(' ');
      const action = rest[0] !== undefined && /^[a-z]+$/.test(rest[0]) ? `${verb} ${rest[0]}` : verb;
      const flags = rest.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''));
      const ofVerb = typed.filter((line) => line === action || line.startsWith(`${action} `));
      assert.ok(ofVerb.length > 0, `${form}: no example begins with ${action}`);
      for (const flag of flags)
        assert.ok(
          ofVerb.some((line) => line.includes(flag)),
          `${form}: no example has ${flag}`,
        );
    }
  });
});

/** Of `bastion ..`: the name of a server, which a context or a flag names, and what `quota freeze` and `update` say by themselves. */
const SAID_ELSEWHERE = new Set(['shared-bastion', '{"scheduler"', ' {"dry_run"', ' true}}', 'tpu-v4-32', '0']);

describe('a line of launch as `jobctl submit`', () => {
  // No stack lies there: on a rehearsed cloud `submit` would name a zone.
  const home = mkdtempSync(join(tmpdir(), 'lines-'));
  const meant = { JOBCTL_REGISTRY: 'ghcr.io/team', JOBCTL_HOME: home };
  const were = Object.keys(meant).map((name) => [name, process.env[name]] as const);
  before(() => Object.assign(process.env, meant));
  after(() => {
    for (const [name, value] of were)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    rmSync(home, { recursive: true });
  });
  const isJob = ({ theirs }: Example): boolean => / -- /.test(theirs) && !/update|--build remote/.test(theirs);

  for (const example of ASTERA_LINES.filter(isJob))
    it(`${example.theirs}: what is submitted is what import writes`, async () => {
      const words = wordsOf(typedWords(example)).slice(1);
      const submitted = parse(await printed(['launch', words[0] ?? '', '--dry-run', ...words.slice(1)])) as object;
      assert.deepEqual(submitted, parse(await printed(['import', 'launch', '--', ...words])));
    });

  // What the hosts' shell gets has to be what the other tool gave it.
  const COMMANDS: Readonly<Record<string, readonly [readonly string[], string]>> = {
    'a quoted word': [['python3', 't.py', "'x=${a.b}'"], "python3 t.py 'x=${a.b}'"],
    'a word that the shell reads': [['python3', 't.py', 'x=${a.b}'], 'python3 t.py x=${a.b}'],
    'one line': [["cd src && python3 t.py 'x=${tpu.zone}'"], "cd src && python3 t.py 'x=${tpu.zone}'"],
    "a default of the shell's": [['echo ${X:-a.b}'], 'echo ${X:-a.b}'],
    "the submitter's environment": [['echo', "'${oc.env:HOME}'"], "echo '${oc.env:HOME}'"],
  };
  for (const [name, [command, wanted]] of Object.entries(COMMANDS))
    it(`\${a.b} of another program is no reference: ${name}`, async () => {
      const flags = ['--instance_type=tpu-v4-8', '--env=LR:${c.d}'];
      const written = [
        await printed(['launch', ...flags, '--dry_run', '--', ...command]),
        await printed(['import', 'launch', '--', ...flags, '--', ...command]),
      ];
      for (const text of written) {
        const job = parseJobFile(text, { file: 'job.yaml', env: {} });
        assert.ok(job.ok, JSON.stringify(job));
        const run = job.spec.command?.run ?? '';
        // Jobctl may quote otherwise: compare what comes to a program.
        assert.equal(run.replaceAll("$''{", '${'), wanted, text);
        assert.deepEqual(job.spec.env, { LR: '${c.d}' });
      }
    });

  it('a line of Astera that lacks something says all of it', async () => {
    const [line] = ASTERA_LINES.filter(({ theirs }) => theirs.includes('--build remote'));
    assert.ok(line);
    const { exitCode, text } = await refusalOf(wordsOf(typedWords(line)));
    assert.equal(exitCode, 2);
    assert.match(text, /--allow-dirty is for a build on this computer[^]*--gpu-type h100[^]*--ray-version/);
  });

  for (const example of BASTION_LINES.filter(isJob))
    it(`${example.theirs}: what is submitted is what import writes`, async () => {
      const words = wordsOf(typedWords(example));
      const answer = answerTo(...split(words));
      const line = answer?.runs === undefined ? (answer?.lines?.[0] ?? '') : `jobctl ${shellWords(answer.runs)}`;
      const submitted = parse(await printed(withDryRun(wordsOf(line)))) as { readonly tpu?: { zone?: string } };
      // Of the simulated cloud: a file that is kept names no zone that nobody chose.
      if (line.includes(' --local ')) delete submitted.tpu?.zone;
      const imported = parse(await printed(['import', 'launch', '--', ...words.slice(1)])) as {
        readonly name?: string;
      };
      // The id of a job is no key of its file.
      const { name, ...unnamed } = imported;
      const isId = line.includes(` --name ${name} `);
      assert.deepEqual(submitted, isId ? unnamed : imported);
      assert.ok(isId || !line.includes(' --name '), line);
    });
});

const withDryRun = (words: readonly string[]): readonly string[] =>
  words.includes('--dry-run') ? words : ['submit', '--dry-run', ...words.slice(1)];

/** What a line prints to stdout. */
async function printed(args: readonly string[]): Promise<string> {
  const { stdout, stderr } = process;
  const [toOut, toErr] = [stdout.write.bind(stdout), stderr.write.bind(stderr)];
  let text = '';
  stdout.write = (chunk: string | Uint8Array): boolean => {
    text += String(chunk);
    return true;
  };
  stderr.write = (): boolean => true;
  try {
    assert.equal(await runProgram(args), 0);
  } finally {
    stdout.write = toOut;
    stderr.write = toErr;
  }
  return text;
}
