import type { z } from 'zod';
import { section, text, textMap } from '../job-file/fields.js';

const schema = section({
  image: text().nullish().describe('Repository that the image is pushed to, without a tag or a digest.'),
  context: text().nullish().describe("Folder that COPY reads from; the job file's folder without it."),
  dockerfile: text().nullish().describe('Path in the context; Dockerfile without it.'),
  target: text().nullish().describe('Stage of the Dockerfile; the last one without it.'),
  args: textMap().nullish().describe('Build arguments (ARG). They can be read in the image: no secrets.'),
  platform: text().nullish().describe('Of the image, such as linux/arm64; linux/amd64 without it.'),
  pull_image: text().nullish().describe('The same repository as hosts reach it, if they use another address.'),
  digest: text().nullish().describe('Of an image that was built and pushed: it is used, and nothing is built.'),
  repository: text().nullish().describe("URL that a cluster fetches the commit from; submit adds the remote's."),
  commit: text().nullish().describe('Commit that the cluster builds; submit adds the one that is checked out.'),
  cluster: text()
    .nullish()
    .describe("Context of the worker's kubeconfig whose cluster builds; that of the job's pods."),
  namespace: text().nullish().describe("Namespace in which the cluster builds; that of the job's pods, else default."),
  git_secret: text().nullish().describe('Secret of that namespace with the login for the repository.'),
  push_secret: text().nullish().describe('Secret of that namespace with the login for the registry.'),
});

/** The form of `build` in a job file. A function: docs/adr/0012. */
export const buildForm = (): typeof schema => schema;

export type BuildForm = z.infer<typeof schema>;
