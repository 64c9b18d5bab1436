/** A setting of a place where jobs run: its key in contexts.toml, its flag, and its environment variable. */
export interface Setting {
  /** Key in contexts.toml. */
  readonly key: string;
  /** Flag of `jobctl context set`, without `--`; verbs take the same flag if `isFlag`. */
  readonly flag: string;
  readonly value: string;
  readonly what: string;
  readonly variable?: string;
  /** True if verbs that talk to a server take the flag too. */
  readonly isFlag?: true;
  readonly kind?: 'boolean' | 'file' | 'reference';
}

const KNOWN = [
  {
    key: 'server',
    flag: 'server',
    value: '<url>',
    variable: 'JOBCTL_SERVER',
    isFlag: true,
    what: 'a server of jobctl, such as https://jobctl.example.com',
  },
  {
    key: 'audience',
    flag: 'audience',
    value: '<id>',
    what: 'whom ID tokens for the server are made for (docs/login.md)',
  },
  {
    key: 'address',
    flag: 'temporal-address',
    value: '<host:port>',
    variable: 'TEMPORAL_ADDRESS',
    isFlag: true,
    what: 'the Temporal server',
  },
  {
    key: 'namespace',
    flag: 'namespace',
    value: '<name>',
    variable: 'TEMPORAL_NAMESPACE',
    isFlag: true,
    what: 'its namespace',
  },
  {
    key: 'tls',
    flag: 'tls',
    value: '',
    kind: 'boolean',
    what: 'connect with TLS; the other tls keys and api_key imply it',
  },
  {
    key: 'tls_ca_file',
    flag: 'tls-ca-file',
    value: '<file>',
    kind: 'file',
    what: "the authority of the server's certificate",
  },
  { key: 'tls_cert_file', flag: 'tls-cert-file', value: '<file>', kind: 'file', what: "the client's certificate" },
  { key: 'tls_key_file', flag: 'tls-key-file', value: '<file>', kind: 'file', what: 'its private key' },
  {
    key: 'tls_server_name',
    flag: 'tls-server-name',
    value: '<name>',
    what: 'the name in the certificate, if it is not the host',
  },
  {
    key: 'api_key',
    flag: 'api-key',
    value: '<reference>',
    kind: 'reference',
    what: 'file:///PATH or env:NAME of an API key, never the key',
  },
  {
    key: 'task_queue',
    flag: 'task-queue',
    value: '<name>',
    variable: 'JOBCTL_TASK_QUEUE',
    isFlag: true,
    what: "the workers' queue",
  },
  {
    key: 'bucket',
    flag: 'bucket',
    value: '<name>',
    variable: 'JOBCTL_BUCKET',
    isFlag: true,
    what: 'the store of logs and files: a bucket, s3://BUCKET/PREFIX or file:///FOLDER',
  },
  {
    key: 'system_bucket',
    flag: 'system-bucket',
    value: '<name>',
    variable: 'JOBCTL_SYSTEM_BUCKET',
    isFlag: true,
    what: 'the bucket of what decides, if there are two',
  },
  {
    key: 'store_endpoint',
    flag: 'store-endpoint',
    value: '<url>',
    variable: 'JOBCTL_STORE_ENDPOINT',
    isFlag: true,
    what: "another server than Google's, or than Amazon's for s3://",
  },
  {
    key: 'google_project',
    flag: 'google-project',
    value: '<id>',
    variable: 'JOBCTL_GOOGLE_PROJECT',
    what: 'the Google Cloud project of the slices',
  },
  {
    key: 'secret_store',
    flag: 'secret-store',
    value: '<place>',
    variable: 'JOBCTL_SECRET_STORE',
    what: 'the store of secrets: projects/P or file:///FOLDER',
  },
  {
    key: 'codec_key',
    flag: 'codec-key',
    value: '<reference>',
    variable: 'JOBCTL_CODEC_KEY',
    isFlag: true,
    what: 'the key that payloads are encrypted with',
  },
  {
    key: 'codec_decode_keys',
    flag: 'codec-decode-keys',
    value: '<references>',
    variable: 'JOBCTL_CODEC_DECODE_KEYS',
    isFlag: true,
    what: 'older keys, separated by commas',
  },
  {
    key: 'zone',
    flag: 'zone',
    value: '<zone>',
    variable: 'JOBCTL_ZONE',
    what: 'the zone of TPU slices that a line without a job file asks for',
  },
  {
    key: 'registry',
    flag: 'registry',
    value: '<folder>',
    variable: 'JOBCTL_REGISTRY',
    what: 'where launch pushes the images that it builds, such as ghcr.io/team',
  },
  {
    key: 'gpu_type',
    flag: 'gpu-type',
    value: '<type>',
    variable: 'JOBCTL_GPU_TYPE',
    what: 'what quota calls the GPUs of launch, such as h100',
  },
  {
    key: 'ray_version',
    flag: 'ray-version',
    value: '<version>',
    variable: 'JOBCTL_RAY_VERSION',
    what: 'of Ray in the images of launch',
  },
  { key: 'user', flag: 'user', value: '<user>', what: 'who submits and asks, instead of the login name' },
  { key: 'project', flag: 'project', value: '<project>', what: 'the quota project of job files that name none' },
  {
    key: 'rehearsal',
    flag: 'rehearsal',
    value: '',
    kind: 'boolean',
    what: 'its cloud is a rehearsal: headers say so, and show no price',
  },
] as const satisfies readonly Setting[];

export type SettingKey = (typeof KNOWN)[number]['key'];
/** In the order of `context show`. */
export const SETTINGS: readonly (Setting & { readonly key: SettingKey })[] = KNOWN;
/** Values as in a file or variable; `true` for the two switches. */
export type Settings = Partial<Readonly<Record<SettingKey, string>>>;

/** A flag's name in commander's form: `temporalAddress`. */
export const propertyOf = (flag: string): string =>
  flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
