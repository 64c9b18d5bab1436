#!/bin/sh
# remove-foreign-binaries.sh NODE_MODULES: of the Temporal SDK's core, which npm brings for five platforms at 25 to 30 MB each,
# only this machine's stays. Fails where that one is not there, before anybody runs the image.
set -eu
releases=$1/@temporalio/core-bridge/releases
case $(uname -m) in
  x86_64 | amd64) platform=x86_64-unknown-linux-gnu ;;
  aarch64 | arm64) platform=aarch64-unknown-linux-gnu ;;
  *) echo "$(uname -m): the Temporal SDK has no core for this machine" >&2 && exit 1 ;;
esac
[ -f "$releases/$platform/index.node" ] || { echo "$releases/$platform/index.node is missing" >&2 && exit 1; }
for folder in "$releases"/*; do
  [ "$folder" = "$releases/$platform" ] || rm -r "$folder"
done
