import { ask } from '../../cli/terminal/ask.js';
import { CliError } from '../../cli/terminal/cli-error.js';

/** Asks on the terminal that it runs on, and says what it heard. */
try {
  console.log(`heard ${await ask('Go on? [y/N] ')}`);
} catch (error) {
  console.log(error instanceof CliError ? `exit ${error.exitCode}: ${error.message}` : `not ours: ${String(error)}`);
}
