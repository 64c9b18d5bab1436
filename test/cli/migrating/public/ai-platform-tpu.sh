export IMAGE_URI=gcr.io/some-project/nn:$(git rev-parse HEAD)

gcloud beta ai-platform jobs submit training test_8 \
  --region us-central1 \
  --master-image-uri $IMAGE_URI \
  --scale-tier BASIC_TPU \
  -- \
  --model-idx=1
