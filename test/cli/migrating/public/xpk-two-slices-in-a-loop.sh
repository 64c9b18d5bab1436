PROJECT_ID=some-project
NUM_SLICES=2
TPU_TYPE=v5litepod-256

for (( i=0; i<1; i++ ));
do
    WORKLOAD_NAME=${USER}-debug-$(date +%H-%M-%S)
    RUN_NAME=$WORKLOAD_NAME

    python3 ../tools/xpk/xpk.py workload create \
    --cluster some-cluster \
    --docker-image gcr.io/${PROJECT_ID}/some_runner \
    --workload ${WORKLOAD_NAME} \
    --priority low \
    --tpu-type=${TPU_TYPE} \
    --num-slices=${NUM_SLICES}  \
    --command "echo \$TPU_LIBRARY_PATH; python3 train.py run_name=$RUN_NAME"
done
