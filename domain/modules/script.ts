import { section, text } from '../job-file/fields.js';
import { PIPEFAIL } from './host-scripts.js';
import { fingerprintOf, setUpModule } from './module.js';

const FORMAT = 1;

/** A user's script: runs once on each host for the same text, and again if its check fails. */
export const script = setUpModule({
  name: 'script',
  kind: 'custom',
  form: () =>
    section({
      run: text().nullish().describe('Runs under bash -l on every host, once for the same text.'),
      check: text().nullish().describe('Ends with 0 where the work of the script is there.'),
    }),
  example: 'such as script: {run: sudo sysctl -w vm.swappiness=1}',
  resolve: ({ run, check }, { report }) => {
    if (!run) report.missing(['script', 'run'], 'such as run: sudo sysctl -w vm.swappiness=1');
    return { run: run ?? '', ...(check ? { check } : {}) };
  },
  plan: ({ run, check = 'true' }, sources) => ({
    name: 'script',
    fingerprint: fingerprintOf(sources, FORMAT, run, check),
    check,
    steps: [{ name: 'run', script: `${PIPEFAIL}${run}` }],
  }),
});
