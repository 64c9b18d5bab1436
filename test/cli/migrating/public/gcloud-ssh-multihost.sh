REPO=https://example.org/flax
BRANCH=main

gcloud alpha compute tpus tpu-vm ssh some-vm-v3-128 --zone europe-west4-a \
    --worker=all --command "
pip install 'jax[tpu]>=0.2.21' &&
git clone --depth=1 -b $BRANCH $REPO
"
