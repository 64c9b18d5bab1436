import { readFile } from 'node:fs/promises';
import { JobClient, JobNameTaken } from 'jobctl';
import { trainingJob } from './job.js';

/**
 * The same as start-job.ts, through `jobctl serve`: there is no Temporal here, and the service is who its token says. The job is
 * of the user that is named, if an operator lets this service submit for them.
 */
async function main(): Promise<void> {
  const [name = `train-${Date.now().toString(36)}`, user] = process.argv.slice(2);
  const server = process.env['JOBCTL_SERVER'] ?? 'http://127.0.0.1:7480';
  const jobs = await JobClient.connect({ server, token });
  const { job } = trainingJob(0.001);
  const { id, isNew } = await jobs.submit({ job, name, ...(user === undefined ? {} : { user }) });
  console.log(isNew ? `started ${id}` : `${id} was started before`);
  const outcome = await jobs.wait(id);
  console.log(`${id} ${outcome.result}: exit code ${outcome.exitCode}, ${outcome.attempts} attempts`);
  if (outcome.result !== 'succeeded') process.exitCode = 1;
}

/** Asked before each call: whoever keeps the file, such as Kubernetes, puts a new token there before the old one ends. */
async function token(): Promise<string> {
  const file = process.env['ID_TOKEN_FILE'] ?? '/var/run/secrets/tokens/jobctl';
  return (await readFile(file, 'utf8')).trim();
}

main().catch((error: unknown) => {
  // Each error of JobClient says what, and most of them what to do.
  const { message, remedy = '' } = error as { message: string; remedy?: string };
  console.error(message, error instanceof JobNameTaken ? 'choose another name' : remedy);
  process.exit(1);
});
