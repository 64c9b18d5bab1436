import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { GO_BUILD_MS, promtool } from './built-by-go.js';

const run = promisify(execFile);

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}
interface RuleTests {
  readonly tests: readonly {
    readonly alert_rule_test: readonly { readonly alertname: string; readonly exp_alerts?: readonly unknown[] }[];
  }[];
}

describe('the alert rules', function () {
  this.timeout(60_000);
  let program: string;

  before(async function () {
    this.timeout(GO_BUILD_MS);
    program = await promtool();
  });

  it('fire for what they are there for and not on a good day, by the judgement of promtool', async () => {
    const { stdout } = await run(program, ['test', 'rules', 'deploy/prometheus/alerts.test.yml']);
    assert.match(stdout, /SUCCESS/);
  });

  it('are each seen firing, and each seen silent, by that test', () => {
    const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as Rules;
    const { tests } = parse(readFileSync('deploy/prometheus/alerts.test.yml', 'utf8')) as RuleTests;
    const expectations = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    const seen = (isFiring: boolean): string[] => [
      ...new Set(
        expectations
          .filter(({ exp_alerts }) => (exp_alerts !== undefined) === isFiring)
          .map(({ alertname }) => alertname),
      ),
    ];
    const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).toSorted();
    assert.ok(names.length > 5);
    assert.deepEqual(seen(true).toSorted(), names);
    assert.deepEqual(seen(false).toSorted(), names);
  });
});
