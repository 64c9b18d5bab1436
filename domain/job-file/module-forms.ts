import { z } from 'zod';
import { flag, scalarText, section, text, texts } from './fields.js';

/**
 * The form of the sections of setup modules, JobMan v2's keys first (facts/predecessors.md 1.1). Behind a function, as all
 * schemas that workflows share (docs/adr/0012).
 */
export const moduleSections = () => ({
  ssh: sshSection().nullish(),
  gcsfuse: gcsfuseSection().nullish(),
  docker: dockerSection().nullish(),
  conda: condaSection().nullish(),
  venv: venvSection().nullish(),
  files: fileList().nullish().describe("Files and folders of the submitter's that every host gets."),
  bundle: bundleForm()
    .nullish()
    .describe("A folder of the submitter's that every host gets; the command starts in it. false: none."),
  script: scriptSection().nullish(),
  modules: z
    .record(z.string(), ownModule(), { error: 'a section of NAME: {check, setup, files}' })
    .nullish()
    .describe("Modules of the file's own, for setup.modules."),
});

const sshSection = () =>
  section({
    private_key: text().nullish().describe('The key that connects; a file of the submitter.'),
    public_key: text().nullish(),
    tpu_private_key: text().nullish().describe('The key that connects, and with which the hosts reach each other.'),
    tpu_public_key: text().nullish(),
    identities: z
      .array(section({ private_key: text(), public_key: text().nullish(), config_entry: text().nullish() }), {
        error: 'a list of identities',
      })
      .nullish()
      .describe('Keys that every host gets, and their entries in ~/.ssh/config.'),
  });

/** -1 means no limit, in gcsfuse's own words. */
const limit = (what: string): z.ZodOptional<z.ZodNullable<z.ZodNumber>> => {
  const error = `a whole number of ${what}, or -1`;
  return z.int({ error }).min(-1, { error }).nullish();
};

const mountKeys = () => ({
  bucket_name: text().nullish(),
  mount_path: text().nullish().describe('On the host: absolute, or ~/..'),
  cache: section({
    dir: text().nullish(),
    metadata_ttl_secs: limit('seconds'),
    stat_cache_max_size_mb: limit('megabytes'),
    type_cache_max_size_mb: limit('megabytes'),
    file_cache_max_size_mb: limit('megabytes'),
    cache_file_for_range_read: flag().nullish(),
    enable_parallel_downloads: flag().nullish(),
    prefix: text().nullish().describe('A script that runs before the mount.'),
  }).nullish(),
});

const gcsfuseSection = () =>
  section({
    ...mountKeys(),
    extra_mounts: z.array(section(mountKeys()), { error: 'a list of mounts' }).nullish(),
  });

const dockerSection = () =>
  section({
    image: text().nullish(),
    env_vars: texts().nullish().describe('NAME=value'),
    mount_dirs: texts().nullish().describe('/dir, or /on/host:/in/container[:ro]'),
    workdir: text().nullish(),
    work_dir: text().nullish(),
    flags: texts().nullish().describe('Flags of docker run; each text is split as a shell would.'),
  });

const condaSection = () =>
  section({
    name: text().nullish(),
    env_name: text().nullish(),
    config_file: text().nullish(),
    yaml_file: text().nullish(),
    enabled: flag().nullish(),
    python: scalarText().nullish(),
    requirements: z.union([text(), texts()], { error: 'text or a list of texts' }).nullish(),
  });

const venvSection = () =>
  section({
    name: text().nullish().describe('The environment is ~/NAME on the host.'),
    path: text().nullish().describe('The same, as a path.'),
    requirements_file: text().nullish().describe("A file of the submitter's, for pip install -r."),
    python: scalarText().nullish().describe('python3.10 or "3.10".'),
  });

const FILES = 'a list of files, each a path or {from, to}';
const fileList = () =>
  z.array(z.union([text(), section({ from: text(), to: text().nullish() })], { error: 'a path or {from, to}' }), {
    error: FILES,
  });

const bundleForm = () =>
  z.union(
    [
      text(),
      z.literal(false),
      section({
        dir: text().nullish().describe('The folder; a relative path starts at the folder of the job file.'),
        exclude: texts().nullish().describe('What stays behind, as in a .gitignore, in place of the usual list.'),
        gitignore: flag().nullish().describe("false: what the folder's .gitignore files leave out goes too."),
        install: text().nullish().describe('Runs in the bundle on every host, in the environment of the job.'),
      }),
    ],
    { error: 'a folder, or a section {dir, exclude, gitignore, install}' },
  );

const scriptSection = () =>
  section({
    run: text().nullish().describe('Runs under bash -l on every host, once for the same text.'),
    check: text().nullish().describe('Ends with 0 where the work of the script is there.'),
  });

const ownModule = () =>
  section({
    check: text().nullish(),
    setup: z
      .array(section({ name: text().nullish(), run: text() }), { error: 'a list of steps, each {name, run}' })
      .nullish(),
    files: fileList().nullish(),
  });
