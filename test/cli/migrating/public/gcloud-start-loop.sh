#!/bin/sh
while true
do
    echo "Trying to get a TPU VM"
    #gcloud compute tpus tpu-vm create tpu1 --zone=europe-west4-a --accelerator-type=v3-8
    gcloud compute tpus tpu-vm start tpu1 --zone=europe-west4-a
    sleep 300 # wait 5 minutes
done
