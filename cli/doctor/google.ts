import type { OnExchange } from '../../cloud/exchange.js';
import type { GoogleProjectPort } from '../../cloud/google-project/port.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { readDevContext } from '../place/stack/context.js';
import { showValue } from '../../domain/problem.js';
import { readStorePlace } from '../../domain/store-place.js';
import type { Environment } from '../terminal/home.js';
import { stackHome } from '../terminal/home.js';

/** Flags that name the Google project, and endpoints in place of Google's. */
export interface GoogleFlags {
  readonly googleProject?: string;
  /** Endpoint in place of all of Google's APIs except Cloud Storage; for tests. */
  readonly googleApiEndpoint?: string;
  readonly storeEndpoint?: string;
  readonly bucket?: string;
  readonly systemBucket?: string;
}

export interface OpenedGoogleProject {
  readonly port: GoogleProjectPort;
  /** From the environment, or from a local stack on real Cloud TPU. Absent: no bucket of Google is named there. */
  readonly bucket?: string;
  readonly systemBucket?: string;
}

/**
 * Opens the project that the first of these names: flags, the environment, the local stack if it is on real Cloud TPU, the
 * credentials and gcloud.
 * @throws CliError if none of them names a project
 */
export async function openGoogleProject(
  flags: GoogleFlags,
  env: Environment,
  onExchange?: OnExchange,
): Promise<OpenedGoogleProject> {
  for (const bucket of [flags.bucket, flags.systemBucket]) refuseOtherStore(bucket);
  const [{ createGoogleProject }, { defaultGoogleProject }] = await Promise.all([
    import('../../cloud/google-project/google-project.js'),
    import('../../cloud/google-project/rest.js'),
  ]);
  const stack = readDevContext(stackHome(env));
  const real = stack?.rehearsal === undefined ? stack : undefined;
  const googleProject =
    flags.googleProject ?? given(env['JOBCTL_GOOGLE_PROJECT']) ?? real?.googleProject ?? (await defaultGoogleProject());
  if (googleProject === undefined) throw noProject();
  const apiEndpoint =
    flags.googleApiEndpoint ?? given(env['JOBCTL_GOOGLE_API_ENDPOINT']) ?? real?.cloud.googleApiEndpoint;
  const storeEndpoint = flags.storeEndpoint ?? given(env['JOBCTL_STORE_ENDPOINT']) ?? real?.store.endpoint;
  const bucket = googleName(given(env['JOBCTL_BUCKET']) ?? real?.store.bucket);
  const systemBucket = googleName(given(env['JOBCTL_SYSTEM_BUCKET']));
  return {
    port: createGoogleProject({
      googleProject,
      ...(apiEndpoint === undefined ? {} : { apiEndpoint }),
      ...(storeEndpoint === undefined ? {} : { storeEndpoint }),
      ...(onExchange === undefined ? {} : { onExchange }),
    }),
    ...(bucket === undefined ? {} : { bucket }),
    ...(systemBucket === undefined ? {} : { systemBucket }),
  };
}

/** @throws CliError if a flag names a store that is not a bucket of Google */
function refuseOtherStore(text: string | undefined): void {
  if (text === undefined || !/[:/]/.test(text)) return;
  throw new CliError(
    ExitCode.Usage,
    `--bucket: ${showValue(text)} is not the name of a bucket of Google's, and Google Cloud is meant here`,
    'the name alone; a store of another kind is looked at by `jobctl doctor --server`',
  );
}

/** The bucket's bare name. Undefined: it is not a bucket of Google, so the Google project says nothing about it. */
function googleName(text: string | undefined): string | undefined {
  if (text === undefined || !/[:/]/.test(text)) return text;
  const place = readStorePlace(text);
  return 'kind' in place && place.kind === 'google' ? place.bucket : undefined;
}

const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

function noProject(): CliError {
  return new CliError(
    ExitCode.Usage,
    'no Google Cloud project is named',
    'neither by --google-project, JOBCTL_GOOGLE_PROJECT, the credentials, nor by gcloud',
    "name it: --google-project ID; 'gcloud projects list' shows those that you may see",
  );
}
