#!/bin/bash

export CLUSTER_NAME=some-cluster
export DEVICE_TYPE=h100-mega-80gb-8
export WORKLOAD_NAME="ann-$(date +%m-%d)"

# python3 xpk/xpk.py workload create --cluster $CLUSTER_NAME \
#     --device-type $DEVICE_TYPE --num-nodes 1 \
#     --command "sleep 3600"
python3 xpk/xpk.py workload create --cluster $CLUSTER_NAME \
    --workload $WORKLOAD_NAME --docker-image gcr.io/some-project/some-image \
    --device-type $DEVICE_TYPE --num-nodes 2 \
    --priority=high --scheduler=gke.io/topology-aware-auto \
    --command "python3 train.py base.yml \
        base_output_directory=${OUTPUT} dtype=bfloat16"
