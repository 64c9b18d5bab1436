import type { RehearsalEndpoints } from './index.js';

/** A client's project and zone, and its own gcloud files. */
export interface ClientPlace {
  readonly project: string;
  readonly zone: string;
  /**
   * Folder for gcloud's configuration. In a separate folder gcloud does not see the user's active account (whose real tokens it
   * would renew and send here) or settings, and writes nothing there. Absent: the user's own folder.
   */
  readonly gcloudConfig?: string;
  /**
   * With authentication: a file with an access token (POST /admin/token) for gcloud to send. Without: gcloud sends the
   * rehearsal's own token. The alternative, CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE with the credentials file, fails with
   * `invalid_token` (tried with SDK 528).
   */
  readonly gcloudTokenFile?: string;
}

/**
 * Environment variables that point gcloud, kubectl, curl and Google's client libraries, all unmodified, at the rehearsal.
 * Settings without a variable (gcsfuse's endpoint, the gRPC port of Cloud TPU's clients) are in README.md, "Clients".
 */
export function clientEnvironment(endpoints: RehearsalEndpoints, place: ClientPlace): Record<string, string> {
  const { kubeconfig } = endpoints;
  return {
    ...gcloud(endpoints, place),
    ...libraries(endpoints, place),
    ...trust(endpoints),
    ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }),
  };
}

/** Overrides every API that a TPU user's gcloud calls, so that no call reaches Google by accident. */
function gcloud(
  { rest, store, caFile, credentialsFile, tokenFile }: RehearsalEndpoints,
  place: ClientPlace,
): Record<string, string> {
  const { project, zone, gcloudConfig } = place;
  const gcloudTokenFile = place.gcloudTokenFile ?? (credentialsFile === undefined ? tokenFile : undefined);
  // An override that does not end in a slash loses its last segment.
  const overrides = {
    TPU: `${rest}/`,
    COMPUTE: `${rest}/compute/v1/`,
    CLOUDRESOURCEMANAGER: `${rest}/`,
    IAM: `${rest}/`,
    SERVICEUSAGE: `${rest}/`,
    OSLOGIN: `${rest}/`,
    STORAGE: `${store}/storage/v1/`,
  };
  const endpoints = Object.entries(overrides).map(([api, url]) => [`CLOUDSDK_API_ENDPOINT_OVERRIDES_${api}`, url]);
  return {
    ...(gcloudConfig !== undefined && { CLOUDSDK_CONFIG: gcloudConfig }),
    CLOUDSDK_CORE_PROJECT: project,
    CLOUDSDK_COMPUTE_ZONE: zone,
    CLOUDSDK_CORE_DISABLE_USAGE_REPORTING: 'true',
    CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK: 'true',
    ...(Object.fromEntries(endpoints) as Record<string, string>),
    ...(gcloudTokenFile !== undefined && { CLOUDSDK_AUTH_ACCESS_TOKEN_FILE: gcloudTokenFile }),
    ...(caFile !== undefined && { CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE: caFile }),
  };
}

function libraries(
  { store, credentialsFile, metadataHost }: RehearsalEndpoints,
  place: ClientPlace,
): Record<string, string> {
  return {
    GOOGLE_CLOUD_PROJECT: place.project,
    STORAGE_EMULATOR_HOST: store,
    TENSORSTORE_GCS_HTTP_URL: store,
    ...(credentialsFile === undefined
      ? { GOOGLE_AUTH_TOKEN_FOR_TESTING: 'rehearsal' }
      : { GOOGLE_APPLICATION_CREDENTIALS: credentialsFile }),
    ...(metadataHost !== undefined && { GCE_METADATA_HOST: metadataHost }),
  };
}

/**
 * Only variables that add an authority, or that belong to clients which connect to nothing but the rehearsal. CURL_CA_BUNDLE and
 * REQUESTS_CA_BUNDLE would replace all authorities that curl and pip trust: use `curl --cacert` instead.
 */
function trust({ caFile }: RehearsalEndpoints): Record<string, string> {
  return caFile === undefined ? {} : { NODE_EXTRA_CA_CERTS: caFile, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: caFile };
}
