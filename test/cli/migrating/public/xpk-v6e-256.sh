#!/usr/bin/env bash

# Don't forget: this needs a source install.
CLUSTER_NAME=some-cluster
DOCKER_URL=gcr.io/some-project/llama:latest
NUM_SLICES=1
TPU_TYPE=v6e-256
ZONE=us-east5-c
PROJECT_ID=some-project

STAMP=$(date +%Y%m%d-%H%M%S)
COMMAND="LIBTPU_INIT_ARGS= python run.py --batch_size=64"

xpk workload create \
    --cluster ${CLUSTER_NAME} \
    --docker-image ${DOCKER_URL} \
    --workload "${USER}-v6e-256-$NUM_SLICES-${STAMP}" \
    --tpu-type=${TPU_TYPE} \
    --num-slices=${NUM_SLICES} \
    --on-demand \
    --zone $ZONE \
    --project $PROJECT_ID \
    --enable-debug-logs \
    --command "$COMMAND"
