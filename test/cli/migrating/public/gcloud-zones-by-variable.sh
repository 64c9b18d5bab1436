#!/bin/bash
# Doesn't stop before there is one.
set -eo pipefail

TPU_NAME=$1
TPU_TYPE=${2:-"v6e-1"}
PROJECT=${GCP_PROJECT:-$(gcloud config get-value project)}
DEFAULT_RUNTIME="v6e-ubuntu-2404"
RUNTIME_VERSION=${4:-$DEFAULT_RUNTIME}

if [[ "$TPU_TYPE" != v6e* ]]; then
    gcloud alpha compute tpus queued-resources create "${TPU_NAME}-req" \
        --project="$PROJECT" \
        --zone="$PRIMARY_ZONE" \
        --accelerator-type="$TPU_TYPE" \
        --runtime-version="$RUNTIME_VERSION" \
        --node-id="$TPU_NAME" \
        --provisioning-model=flex-start \
        --max-run-duration=4h \
        --valid-until-duration=4h \
        --labels=purpose=flex-start \
        --quiet
fi
for ZONE in "${ZONES[@]}"; do
    gcloud compute tpus tpu-vm create "$TPU_NAME" \
        --project="$PROJECT" \
        --zone="$ZONE" \
        --accelerator-type="$TPU_TYPE" \
        --version="$RUNTIME_VERSION" \
        --preemptible \
        --quiet
done
