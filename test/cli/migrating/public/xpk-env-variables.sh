cd code

TS=`date +'%s' | cut -c4-`

python3 ../xpk/xpk.py workload create \
--cluster "${CLUSTER}" \
--base-docker-image some_base_image \
--workload "ann-llama-${TS}" \
--tpu-type="${TPU_TYPE}"   \
--num-slices=1 \
--command "python3 train.py \
        base.yml \
        steps=10"
echo SUBMITTED!
cd ..
