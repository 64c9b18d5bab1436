#!/bin/bash

while true; do
    gcloud compute tpus tpu-vm create alpha \
    --zone=us-central2-b \
    --accelerator-type=v4-8 \
    --version=tpu-ubuntu2204-base

    # Wait before it's run again
    sleep 480
done
