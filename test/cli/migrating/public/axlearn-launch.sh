#!/usr/bin/env bash

set -xe

export NUM_REPLICAS=${NUM_REPLICAS:-1}
export INSTANCE_TYPE=${INSTANCE_TYPE:-"tpu-v5p-64"}
export CLUSTER=$(axlearn gcp config | grep gke_cluster | awk '{ print $3 }')

axlearn gcp launch run --cluster=$CLUSTER \
      --runner_name gke_tpu_single \
      --name=$USER-run \
      --instance_type=${INSTANCE_TYPE} \
      --num_replicas=${NUM_REPLICAS} \
      --bundler_spec=allow_dirty=True \
      --bundler_type=artifactregistry --bundler_spec=image=tpu \
      -- "ulimit -c 0; python3 -m train" \
        --module=text.gpt
