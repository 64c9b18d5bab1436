import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { attemptObject } from '../../domain/store-layout.js';
import { hangsIn } from '../hosts/hanging-python.js';
import { type Finished, JobctlUser } from './jobctl-process.js';
import { jobFile, SLOW_SET_UP } from './job-files.js';
import { cloudIsEmpty } from './nothing-left.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { storedLog } from './stored-log.js';
import type { TestStack } from './test-stack.js';
import { until } from '../until.js';
import { withStack } from './with-stack.js';

describe('a job whose command falls silent', function () {
  this.timeout(90_000);
  let stack: TestStack;

  withStack((own) => {
    stack = own;
  });

  it('is told so, stopped with its grace on all hosts, begun again by retries.task, and says why', async () => {
    const hangs = `trap 'cat $JOBCTL_NOTICE_FILE; exit 0' TERM; sleep 300 & wait $!`;
    const command = `echo "$JOBCTL_ATTEMPT after '$JOBCTL_PREVIOUS_ATTEMPT_END'"; [ $JOBCTL_ATTEMPT = 2 ] || { ${hangs}; }`;
    const job = jobFile(command, { timeouts: { no_output: 5 }, retries: { task: 1 } });
    const { id } = await stack.jobs.submit({ job });
    const { result, attempts } = await stack.jobs.wait(id);
    assert.deepEqual([result, attempts], ['succeeded', 2], stack.tail());

    const why =
      /its command printed nothing for 5 s on any of its hosts \(timeouts\.no_output\); host \d was silent first, since \d{4}-[^;]+ UTC; the last output was host \d's, at \d{4}-[^;]+ UTC/;
    const events = (await stack.jobs.describe(id)).events.map(({ text }) => text);
    const told = events.filter((text) => why.test(text));
    assert.equal(told.length, 2, events.join('\n'));
    assert.match(told[0] ?? '', /^running: .+; its command has 30 s to save$/);
    assert.match(told[1] ?? '', /; trying again \(1 of 1\)$/);
    const record = JSON.parse(String(await stack.store.read(attemptObject(id, 1)))) as { readonly end: string };
    assert.equal(record.end, 'no-output');
    for (const host of [0, 1, 2, 3]) {
      const [first, notice, ...rest] = (await storedLog(stack.store, { id, stream: 'command', host })).split('\n');
      assert.deepEqual([first, rest], ["1 after ''", ['']]);
      const { cause, reason } = JSON.parse(notice ?? '') as { readonly cause: string; readonly reason: string };
      assert.equal(cause, 'attempt');
      assert.match(reason, why);
      assert.equal(await storedLog(stack.store, { id, stream: 'command', host, attempt: 2 }), "2 after 'no-output'\n");
    }
    await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
  });

  it('says where each of its processes stands while it hangs, and stores that before it is ended', async () => {
    const user = JobctlUser.of(stack, { JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret('first') });
    try {
      const command = `[ "$JOBCTL_HOST_INDEX" = 2 ] && place=next_batch || place=all_reduce\n${hangsIn('$place')}`;
      const job = jobFile(command, { timeouts: { no_output: 20 } });
      const { id } = await stack.jobs.submit({ job });
      const groups = ({ stdout, stderr }: Finished): readonly unknown[] => {
        assert.match(stdout, /^\{/, stderr);
        const said = JSON.parse(stdout) as {
          readonly groups: readonly {
            readonly processes: readonly { readonly host: number }[];
            readonly frames: readonly { readonly function: string }[];
          }[];
        };
        return said.groups.map(({ processes, frames }) => [processes.map(({ host }) => host), frames[1]?.function]);
      };
      const wanted = [
        [[0, 1, 3], 'all_reduce'],
        [[2], 'next_batch'],
      ];
      let live: Finished | undefined;
      await until('all hosts hang', async () => {
        live = await user.run('stacks', id, '-o', 'json');
        return live.code === 0 && isDeepStrictEqual(groups(live), wanted) ? true : undefined;
      });

      const { result, cause } = await stack.jobs.wait(id);
      assert.equal(result, 'failed', stack.tail());
      assert.match(cause?.message ?? '', /; where its processes stood is stored of 4 hosts \(jobctl stacks\)/);
      const note = (await stack.jobs.describe(id)).events.map(({ text }) => text).join('\n');
      assert.match(note, new RegExp(`is stored: \`jobctl stacks ${id} --attempt 1\``));
      assert.deepEqual(groups(await user.run('stacks', id, '-o', 'json')), wanted);
      const shown = await user.run('stacks', id, '--attempt', '1');
      assert.match(shown.stdout, /^ {2}1 in wait \(train\.py:4\), called by next_batch \(train\.py:9\): host 2$/m);
      const log = await user.run('logs', id, '--module', 'stacks', '--host', '2');
      assert.match(log.stdout, /^ {4}next_batch \(.+\/train\.py:9\)$/m, log.stderr);
      const absent = await user.run('stacks', id, '--host', '4');
      assert.deepEqual([absent.code, absent.stdout], [3, '']);
      assert.match(absent.stderr, /no stacks of host 4 are stored of attempt 1 of .+: there are those of 0-3/);
      await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
    } finally {
      await user.leave();
    }
  });

  it('has stacks while its command runs alone, and of hosts that it has', async () => {
    const user = JobctlUser.of(stack, { JOBCTL_SSH_JOB_KEY_SECRET: stack.jobKeySecret('first') });
    const refused = async (...words: readonly string[]): Promise<Finished> => {
      const { code, stdout, stderr } = await user.run('stacks', ...words);
      assert.equal(stdout, '');
      return { code, stdout, stderr };
    };
    try {
      const unknown = await refused('nobody-1234');
      assert.deepEqual([unknown.code, /nobody-1234/.test(unknown.stderr)], [3, true], unknown.stderr);
      const { id } = await stack.jobs.submit({ job: jobFile('sleep 600', SLOW_SET_UP) });
      await until('it is set up', async () => (await stack.jobs.describe(id)).phase === 'setting-up' || undefined);
      const early = await refused(id);
      assert.equal(early.code, 4);
      assert.match(early.stderr, /is setting-up: its command does not run now\n.*jobctl logs .+ --module NAME/);
      const none = await refused(id, '--attempt', '1');
      assert.equal(none.code, 3);
      assert.match(none.stderr, /no stacks of attempt 1 are stored\n.*timeouts\.no_output/);
      await stack.jobs.cancel(id);
      await stack.jobs.wait(id);

      const { id: running } = await stack.jobs.submit({ job: jobFile('sleep 600') });
      await until('it runs', async () => (await stack.jobs.describe(running)).phase === 'running' || undefined);
      const outside = await refused(running, '--host', '9');
      assert.equal(outside.code, 3);
      assert.match(outside.stderr, /has no host 9: it has 4 hosts, 0 to 3/);
      await until('all hosts say what they do', async () => {
        const { stdout } = await user.run('stacks', running, '--no-install');
        return /^4 processes: hosts 0-3\n {2}sleep \(state S/m.test(stdout) || undefined;
      });
      await stack.jobs.cancel(running);
      await stack.jobs.wait(running);
      await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
    } finally {
      await user.leave();
    }
  });

  it('says within the limit that one host is silent while another prints, and takes it back when it prints again', async () => {
    const speaks = 'until [ -e "$JOBCTL_OUTPUT_DIR/end" ]; do echo on; sleep 0.5; done';
    // It goes on to print: after one line alone it would be silent again before a busy computer has looked.
    const hangs = `echo begun; sleep 15; ${speaks}`;
    const command = `if [ "$JOBCTL_HOST_INDEX" = 0 ]; then ${speaks}; else ${hangs}; fi`;
    const { id } = await stack.jobs.submit({ job: jobFile(command, { timeouts: { no_output: 5 } }) });
    const silent =
      /nothing was printed by (host [1-9]\d* since [^,;]+Z(, | and )?)+.*, while others print \(timeouts\.no_output\)/;
    const whyNow = async (): Promise<string> => (await stack.jobs.describe(id)).why ?? '';
    await until('why says it', async () => (silent.test(await whyNow()) ? true : undefined));
    await until('the list says it', async () => {
      const { rows } = await stack.jobs.list();
      return silent.test(rows.find((row) => row.id === id)?.why ?? '') ? true : undefined;
    });
    await until('it is taken back', async () => (silent.test(await whyNow()) ? undefined : true));
    assert.equal((await stack.jobs.describe(id)).phase, 'running');
    await stack.jobs.cancel(id);
    await stack.jobs.wait(id);
    await cloudIsEmpty(new RehearsalAdmin(stack.rehearsal.endpoints.admin));
  });
});
