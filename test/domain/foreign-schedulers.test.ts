import { gives } from '../foreign-gives.js';

describe('batch scripts in other shapes', () => {
  describe('scripts for schedulers', () => {
    gives(
      {
        '#SBATCH -N 4\n#SBATCH -t 90': ['--tpu v5litepod-16 --set timeouts.run=90m', 'v5litepod-16 has 4 hosts'],
        '#SBATCH --nodes=3\n#SBATCH --time=2-12:30:00': ['--tpu v5litepod-8 --slices 3 --set timeouts.run=3630m'],
        '#SBATCH --nodes=2-4\n#SBATCH --time 01:30:30': ['--slices 2', 'timeouts.run=5430s'],
        '#SBATCH -Jmine\n#SBATCH -a 1-3\necho $SLURM_ARRAY_TASK_ID': ['--name mine', '-a 1-3: a job for each'],
        'echo first\n#SBATCH --time=5': ['!timeouts'],
        '#PBS -N mine\n#PBS -l select=1:ngpus=4\n#PBS -l walltime=24:00:00': [
          'a batch script of PBS',
          '--name mine --set timeouts.run=24h',
          'on GPUs',
        ],
        '#BSUB -J mine\nmodule load x': ['a batch script of LSF', '`module`'],
        '#$ -N mine\n#$ -t 1-5': ['a batch script of Grid Engine', '--name mine', 'env.SGE_TASK_ID=1..5'],
      },
      (lines) => `#!/bin/bash\n${lines}\n`,
    );
  });

  describe('several options in one line of a scheduler', () => {
    gives(
      {
        '#SBATCH --job-name=a --time=30 --nodes=2': ['--slices 2 --name a --set timeouts.run=30m'],
        '#SBATCH -N 2 -t 30 --gres=gpu:4 -J abc': [
          '--slices 2 --name abc --set timeouts.run=30m',
          '--gres=gpu:4: a host',
        ],
        '#SBATCH -N2 -t30 -Jabc': ['--slices 2 --name abc --set timeouts.run=30m', '!not carried over'],
        '#SBATCH --exclusive -J "my job" # -t 5': ['--name my-job', '!timeouts', '!not carried over'],
        '#SBATCH --requeue --nodes 2\r': ['--slices 2', '!not carried over'],
        '#SBATCH -t 5\n#SBATCH --time=0 -N 2': ['!timeouts', '!not carried over'],
        '#SBATCH -t tomorrow nonsense': ['-t tomorrow: no time', 'nonsense: jobctl knows no such option of Slurm'],
        '#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 4': ['--slices 2', 'hetjob: the hosts of a job are equal', '!-N 4'],
        '#PBS -N mine -V -l walltime=1:00:00 -l select=4:ncpus=8': [
          '--tpu v5litepod-16 --name mine --set timeouts.run=1h',
          '-V: hosts have none of your variables',
          '-l select=4:ncpus=8: a host',
        ],
        '#$ -cwd -N mine -pe mpi 8 -l h_rt=3600 -tc 4': [
          '--name mine --set timeouts.run=1h',
          '-pe mpi 8: the script runs once',
        ],
        '#BSUB -J "mine[1-4]" -W 1:30 -x -gpu "num=4"': [
          '--name mine --set timeouts.run=90m',
          '-J mine[1-4]: a job for each',
          '-gpu num=4: a host',
        ],
      },
      (lines) => `#!/bin/bash\n${lines}\npython3 a.py\n`,
    );
  });

  describe('each option of Slurm has its own reason', () => {
    gives(
      {
        '--signal=B:USR1@120': ['SIGTERM first'],
        '--export=ALL,A=1': ['--set env.NAME=VALUE'],
        '--mail-user=a@b.c': ['to: {mail: [ADDRESS]}'],
        '--begin=16:00': ['as soon as its pool has room'],
        '--nice=5': ['priority: 1'],
        '--comment=x': ['no notes'],
        '--mem=4G': ['a host has what its type has'],
        '--partition=tpu': ['quota'],
        '--nonsense': ['jobctl knows no such option of Slurm'],
      },
      (option) => `#!/bin/bash\n#SBATCH ${option}\npython3 a.py\n`,
    );
  });

  describe('the first line of a script names what runs it', () => {
    gives(
      {
        '#!/usr/bin/env python3\n#SBATCH -N 1\nimport os': ['-- python3 run.sbatch'],
        '#!/usr/bin/python3.11 -u\n#SBATCH -N 1\nimport os': ['-- python3.11 -u run.sbatch'],
        '#!/usr/bin/env -S perl -w\n#SBATCH -N 1': ['-- perl -w run.sbatch', '!hosts need'],
        '#!/bin/bash -e\n#SBATCH -N 1': ['-- bash -e run.sbatch'],
        '#!/bin/sh\npython3 a.py': ['-- sh run.sbatch'],
        '#!/usr/bin/env Rscript\n#SBATCH -N 1': ['-- Rscript run.sbatch', 'the hosts need `Rscript`'],
        '#!/usr/bin/env julia\nprintln(1)': ['a program for julia', '-- julia run.sbatch', 'the hosts need `julia`'],
        '#SBATCH -N 1\npython3 a.py': ['-- bash run.sbatch'],
      },
      (text) => text,
      'run.sbatch',
    );
  });
});
