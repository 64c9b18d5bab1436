#!/bin/bash
#SBATCH --account=some_project
#SBATCH --partition=gputest
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --mem=0
#SBATCH --time=15
#SBATCH --gres=gpu:a100:4

#module purge
#module load pytorch

srun python3 -m torch.distributed.run --standalone --nproc_per_node=4 $*
