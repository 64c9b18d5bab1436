tssha() {
    gcloud compute tpus tpu-vm ssh "$1" --zone us-central2-b --worker=all --command "$2"
}
tssha v4-64 "cd code/ && \
git pull && \
sudo docker build -t tpuvm . --build-arg TIME=$(date +%s)"

tssha v4-64 'sudo docker run --net=host --privileged -t -d tpuvm'
