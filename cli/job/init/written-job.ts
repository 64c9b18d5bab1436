import { type Generation, GENERATION_FACTS } from '../../../domain/accelerators.js';
import { stringify } from 'yaml';
import type { FoundProgram } from './found-program.js';

/** Answers to the questions of `jobctl init`. */
export interface Answers {
  readonly run: string;
  readonly tpu: string;
  readonly zone: string;
}

/** One host, so that a program without support for several hosts runs once. */
export const DEFAULT_TPU = 'v5litepod-8';

/** A zone that has the generation (cloud.google.com/tpu/docs/regions-zones, 2026-11). */
const ZONES: Readonly<Record<Generation, string>> = {
  v2: 'us-central1-b',
  v3: 'europe-west4-a',
  v4: 'us-central2-b',
  v5litepod: 'us-central1-a',
  v5p: 'us-east5-a',
  v6e: 'us-east5-b',
};

/** Returns any zone for an unknown type: the check of the file then reports the type's problem. */
export function defaultZone(tpu: string): string {
  const generation = (Object.keys(GENERATION_FACTS) as Generation[]).find((name) => tpu.startsWith(`${name}-`));
  return ZONES[generation ?? 'v5litepod'];
}

/**
 * The job file, with comments. It has no setup.modules: its sections determine the set-up.
 * @param name a valid name of the job
 */
export function writtenJob(name: string, { run, tpu, zone }: Answers, found: FoundProgram): string {
  const { section, install } = environmentOf(name, found);
  return [
    '# Written by `jobctl init`. Check a change with `jobctl validate job.yaml`; docs/job-file.md has every key.',
    `name: ${scalar(name)} # job ids are made from it: ${name}-7f3k`,
    '',
    'tpu:',
    `  accelerator: ${scalar(tpu)}`,
    `  zone: ${scalar(zone)}`,
    '  pricing: spot # the least expensive; a preempted job gets another slice, and its command starts again. ondemand is not preempted',
    '',
    '# This folder goes to every host, without what .gitignore leaves out, and the command starts in it.',
    'bundle:',
    '  dir: .',
    ...(install === undefined ? [] : [`  install: ${install}`]),
    '',
    ...(section === undefined ? [] : [...section, '']),
    ...outputsOf(found),
    'env:',
    '  PYTHONUNBUFFERED: "1" # what is printed is seen at once',
    '',
    ...(found.hasDockerfile
      ? ['# The image of your Dockerfile is built at submit by: build: {image: ghcr.io/team/train}', '']
      : []),
    '# Runs on every host of the slice. JOBCTL_HOST_INDEX and JOBCTL_NUM_HOSTS tell them apart.',
    'command:',
    `  run: ${scalar(run)}`,
    '',
  ].join('\n');
}

/** The `outputs` section. Without it, results are lost with the hosts; if no written files are known, it is a comment. */
function outputsOf({ outputs, unread }: FoundProgram): readonly string[] {
  const folders = outputs.length === 0 ? ['out'] : outputs;
  const section = [
    'outputs:',
    `  paths: [${folders.map(scalar).join(', ')}]`,
    '  every: 5m # and at a notice of preemption, and when the command ends',
    '  restore: true # put back before the next attempt starts: a program that goes on from its checkpoint loses 5 minutes at most',
  ];
  return [
    '# Stored in the bucket while the command runs: what is named here, and $JOBCTL_OUTPUT_DIR. `jobctl download JOB` brings it.',
    ...(unread.length === 0
      ? []
      : [`# Writes to a name that init cannot read: ${placesText(unread)}. Add it to the paths.`]),
    ...section.map((line) => `${outputs.length === 0 ? '# ' : ''}${line}`),
    '',
  ];
}

const MOST_PLACES = 5;

/** `train.py:12, train.py:40`. */
export const placesText = (places: readonly string[]): string =>
  [
    ...places.slice(0, MOST_PLACES),
    ...(places.length > MOST_PLACES ? [`and ${places.length - MOST_PLACES} more`] : []),
  ].join(', ');

const FROM_BUNDLE = 'it names files beside it, which the bundle has';

/** The section of the environment, and the part of the bundle to install. */
function environmentOf(
  name: string,
  { environment }: FoundProgram,
): { readonly section?: readonly string[]; readonly install?: string } {
  const named = `  name: ${scalar(name)}`;
  switch (environment?.kind) {
    case undefined:
      return {};
    case 'requirements':
      if (environment.namesFiles)
        return { section: ['venv:', named], install: `pip install -r ${environment.file} # ${FROM_BUNDLE}` };
      return { section: ['venv:', named, `  requirements_file: ${environment.file}`] };
    case 'conda':
      if (environment.namesFiles)
        return {
          section: ['conda:', named],
          install: `conda env update -n ${scalar(name)} -f ${environment.file} # ${FROM_BUNDLE}`,
        };
      return { section: ['conda:', named, `  config_file: ${environment.file}`] };
    case 'package':
      return { section: ['venv:', named], install: `pip install -e . # ${environment.file}` };
  }
}

/** Formats a single-line value, quoted if YAML would read it differently. */
const scalar = (text: string): string =>
  text.includes('\n') ? JSON.stringify(text) : stringify(text, { lineWidth: 0, blockQuote: false }).trimEnd();
