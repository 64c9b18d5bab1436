/** Command lines of the tools that jobctl replaces, as users type them. `docs/migrating.md` shows jobctl's line for each. */
export interface Example {
  /** The line as the other tool's documentation shows it. */
  readonly theirs: string;
  /** The words after `jobctl`, split as by a shell. Absent: the words of `theirs` after the first one. */
  readonly typed?: string;
  /** The difference, if jobctl runs the line. */
  readonly note?: string;
}

export const JOBMAN_LINES: readonly Example[] = [
  { theirs: 'jobman create configs/quick_start.yaml' },
  { theirs: 'jobman create --config=configs/quick_start.yaml' },
  { theirs: 'jobman list', note: 'the place in line and the reason; `status JOB` shows the address of each host' },
  { theirs: 'jobman status exp-1' },
  { theirs: 'jobman start exp-1' },
  { theirs: 'jobman stop exp-1', note: 'ends the command and keeps the slices, as in JobMan' },
  { theirs: 'jobman resume exp-1', note: 'of a stopped job' },
  { theirs: 'jobman reboot exp-1' },
  { theirs: 'jobman run exp-1 --cmd-only' },
  { theirs: 'jobman run exp-1 --force' },
  { theirs: 'jobman run exp-1 --force-prefix' },
  { theirs: 'jobman cancel exp-1', note: 'deletes the slices too; `stop` keeps them' },
  { theirs: 'jobman delete exp-1', note: 'record and logs stay' },
  { theirs: 'jobman clean exp-1' },
  { theirs: 'jobman clean --all' },
  { theirs: 'jobman ssh exp-1', note: 'logs in; `setup JOB --module ssh` runs the module again' },
  { theirs: 'jobman ssh exp-1 --i 2' },
  { theirs: 'jobman gcsfuse exp-1' },
  { theirs: 'jobman docker exp-1' },
  { theirs: 'jobman conda exp-1' },
  { theirs: 'jobman venv exp-1' },
  { theirs: 'jobman billing' },
  { theirs: 'jobman quota', note: "shows help: Google's own quota, zone by zone, is `jobctl report cloud-quota`" },
  { theirs: 'jobman storage' },
  { theirs: 'jobman queue', note: 'lists jobs' },
  { theirs: 'jobman queue requeue exp-1' },
  { theirs: 'jobman queue reset exp-1' },
  { theirs: 'jobman availability' },
  { theirs: 'jobman analytics' },
];

const LAUNCH = 'axlearn gcp launch';

export const BASTION_LINES: readonly Example[] = [
  { theirs: `${LAUNCH} --instance_type=tpu-v4-32 --dry_run -- python3 my_script.py` },
  {
    theirs: `${LAUNCH} --instance_type=tpu-v4-32 --bastion=shared-bastion --name=exp-1 --project_id=vision --user_id=alice --priority=1 --num_slices=2 --max_tries=3 --zone=us-central2-b --env=LR:3 -- python3 train.py`,
  },
  { theirs: `${LAUNCH} --instance_type=tpu-v4-8 -- python3 -c "'import jax; print(jax.devices())'"` },
  {
    theirs: `${LAUNCH} --instance_type=tpu-v4-8 --bundler_type=artifactregistry --bundler_spec=repo=my-repo --bundler_spec=dockerfile=Dockerfile --bundler_exclude=data -- python3 my_script.py`,
  },
  { theirs: `${LAUNCH} run --instance_type=tpu-v4-8 -- python3 my_script.py` },
  { theirs: `${LAUNCH} update --name=exp-1 --instance_type=tpu-v4-32 -- python3 my_script2.py` },
  { theirs: `${LAUNCH} stop --name=exp-1` },
  { theirs: `${LAUNCH} list` },
  { theirs: 'axlearn gcp bastion create --name=shared-bastion' },
  { theirs: 'axlearn gcp bastion submit --spec=spec.json --name=shared-bastion' },
  { theirs: 'axlearn gcp bastion history --name=shared-bastion --job_name=exp-1' },
  { theirs: 'axlearn gcp bastion history --name=shared-bastion vision' },
  { theirs: 'axlearn gcp bastion cancel --job_name=exp-1 --name=shared-bastion' },
  { theirs: 'axlearn gcp bastion stop --name=shared-bastion' },
  { theirs: `axlearn gcp bastion set --name=shared-bastion --runtime_options='{"scheduler": {"dry_run": true}}'` },
  { theirs: 'axlearn gcp logs exp-1 --replica=0 --worker=2' },
  { theirs: 'axlearn gcp logs exp-1 --replica=1 --worker=2' },
];

const WITH_REGISTRY = 'runs, with `JOBCTL_REGISTRY` or `--image`';

export const ASTERA_LINES: readonly Example[] = [
  { theirs: 'launch submit -- python3 train.py', note: WITH_REGISTRY },
  { theirs: 'launch submit --build local --execution kubernetes -- python3 train.py', note: WITH_REGISTRY },
  {
    theirs:
      'launch submit --build remote --execution ray --workers 4 --gpus 8 --allow-dirty --name-prefix exp -- python3 train.py --lr 3',
    note: 'is refused, and the message holds all that the line lacks',
  },
  { theirs: 'launch submit --allow-unpushed --workers 1 --gpus 0 -- make eval', note: WITH_REGISTRY },
  { theirs: 'launch list' },
  { theirs: 'launch logs exp-1', note: 'lines of several hosts come mixed, as `HOST | line`' },
];

/** The words after `jobctl` for a line of another tool. */
export const typedWords = ({ theirs, typed }: Example): string => typed ?? theirs.replace(/^(jobman|axlearn gcp) /, '');
