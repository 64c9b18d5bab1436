#!/bin/bash

#PBS -P ab12
#PBS -q gpuvolta
#PBS -l ncpus=12
#PBS -l mem=16GB
#PBS -l walltime=12:00:00
#PBS -l wd
#PBS -l ngpus=1

module load python3/3.9.2

python3 train.py config.json > $PBS_JOBID.log
