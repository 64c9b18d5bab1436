import type { JobClient } from '../../../client/job-client.js';
import type { Submitted } from '../../../client/submissions.js';
import { pause } from '../../../client/errors.js';
import { GoogleRest } from '../../../cloud/google-project/rest.js';
import { messageOf } from '../../../domain/errors.js';
import { wordCommand, wordLabels } from '../../../domain/machine-kinds/cloud-tpu/adoption.js';
import type { AdoptedNode } from '../../../domain/machine-kinds/cloud-tpu/words.js';
import type { CliContext } from '../../place/context.js';
import { asTyped, tellLine } from '../../terminal/print.js';

/** A job of a workflow that no worker has taken yet has no run id to name. */
const TAKEN_MS = 5_000;
const LOOK_MS = 150;

interface Speaker {
  readonly client: Pick<JobClient, 'describe'>;
  readonly context: Pick<CliContext, 'tpuRestEndpoint' | 'accessTokenFile' | 'googleProject'>;
  /** The node is deleted at the end. */
  readonly isDeleted: boolean;
}

/**
 * Says as the node's owner that the job may adopt it: puts the label there, with the user's own rights at Google (docs/adr/0179).
 * The job exists already, so a failure only prints the command that does the same.
 */
export async function sayWord({ client, context, isDeleted }: Speaker, { id, spec }: Submitted): Promise<void> {
  const tpu = 'tpu' in spec ? spec.tpu : undefined;
  if (tpu?.adopt === undefined) return;
  const run = await runOf(client, id);
  if (run === undefined) {
    tellLine(
      asTyped(`${id} waits for the word of the owner of ${tpu.adopt.node}: \`jobctl why ${id}\` shows the command`),
    );
    return;
  }
  const labels = wordLabels(run, isDeleted);
  const googleProject = tpu.project ?? context.googleProject;
  try {
    await labelNode(context, { ...tpu.adopt, googleProject }, labels);
    const end = isDeleted ? 'deleted' : 'given back';
    tellLine(`${tpu.adopt.node} may be adopted by ${id}, and is ${end} at its end`);
  } catch (error) {
    tellLine(`${tpu.adopt.node} could not be labelled here: ${messageOf(error)}`);
    tellLine(`  its owner says that ${id} may have it:`);
    tellLine(`  ${wordCommand({ ...tpu.adopt, googleProject }, labels)}`);
  }
}

async function runOf(client: Speaker['client'], id: string): Promise<string | undefined> {
  for (const end = Date.now() + TAKEN_MS; Date.now() < end; await pause(LOOK_MS, new AbortController().signal)) {
    const { run } = await client.describe(id).catch(() => ({ run: undefined }));
    if (run !== undefined) return run;
  }
  return undefined;
}

async function labelNode(
  { tpuRestEndpoint, accessTokenFile }: Speaker['context'],
  { googleProject, zone, node }: AdoptedNode & { readonly googleProject: string | undefined },
  word: Readonly<Record<string, string>>,
): Promise<void> {
  if (googleProject === undefined)
    throw new Error('its Google project is not known here (--google-project, tpu.project)');
  const rest = new GoogleRest({
    googleProject,
    ...(tpuRestEndpoint !== undefined && { apiEndpoint: tpuRestEndpoint }),
    ...(accessTokenFile !== undefined && { accessTokenFile }),
  });
  const path = `/v2/projects/${googleProject}/locations/${zone}/nodes/${node}`;
  const { labels = {} } = await rest.get<{ readonly labels?: Readonly<Record<string, string>> }>('tpu', path);
  await rest.patch('tpu', `${path}?updateMask=labels`, { labels: { ...labels, ...word } });
}
