#!/bin/bash
#SBATCH --job-name=one_comparison
#SBATCH --account=PAS0001
#SBATCH --time=2:00:00
#SBATCH --mail-type=ALL
#SBATCH --gpus-per-node=1

source activate trains
python script.py
