"""Google's Python client against whatever STORAGE_EMULATOR_HOST names, or Google: one claim for each function.

Prints a JSON line for each claim: its name, and what was wrong with it or null.
"""

import gzip
import io
import json
import os
import sys
import tempfile
import urllib.request

from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from google.cloud.storage import transfer_manager

URL = os.environ.get("STORAGE_EMULATOR_HOST")
BIG = os.urandom(20 * 1024 * 1024 + 17)
THREAD = transfer_manager.THREAD


def client():
    credentials = AnonymousCredentials() if URL else None
    return storage.Client(project=os.environ["GOOGLE_CLOUD_PROJECT"], credentials=credentials)


def refused(kind, call):
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")


def writes_and_reads_under_preconditions(bucket):
    blob = bucket.blob("guarded")
    blob.upload_from_string("one", if_generation_match=0)
    refused(exceptions.PreconditionFailed, lambda: blob.upload_from_string("two", if_generation_match=0))
    refused(exceptions.NotFound, lambda: bucket.blob("nobody").download_as_bytes())
    assert bucket.blob("guarded").download_as_bytes(checksum="crc32c") == b"one"
    name = bucket.blob("ünï/ços %20?&#+")
    name.upload_from_string("")
    assert name.download_as_bytes() == b""


def uploads_in_chunks_and_reads_ranges(bucket):
    bucket.blob("big", chunk_size=5 * 1024 * 1024).upload_from_file(io.BytesIO(BIG))
    assert bucket.blob("big").download_as_bytes() == BIG
    assert bucket.blob("big").download_as_bytes(start=5, end=9) == BIG[5:10]
    with bucket.blob("stream").open("wb", chunk_size=256 * 1024) as writer:
        for start in range(0, 1_400_000, 200_000):
            writer.write(BIG[start : start + 200_000])
    assert bucket.blob("stream").download_as_bytes() == BIG[:1_400_000]
    with bucket.blob("big").open("rb") as reader:
        assert reader.read(100) == BIG[:100]


def lists_pages_prefixes_and_globs(bucket):
    for index in range(5):
        bucket.blob(f"l/{index}/x").upload_from_string(str(index))
    listing = bucket.list_blobs(prefix="l/", delimiter="/", page_size=2)
    assert list(listing) == [] and sorted(listing.prefixes) == [f"l/{index}/" for index in range(5)]
    assert [blob.name for blob in bucket.list_blobs(match_glob="l/**/x", page_size=2)] == [f"l/{i}/x" for i in range(5)]


def composes_rewrites_copies_and_renames(bucket):
    for index in range(3):
        bucket.blob(f"part{index}").upload_from_string(str(index))
    whole = bucket.blob("whole")
    whole.content_type = "text/plain"
    whole.compose([bucket.blob(f"part{index}") for index in range(3)])
    assert whole.download_as_bytes() == b"012" and whole.component_count == 3 and whole.md5_hash is None
    token, done, total = bucket.blob("rewritten").rewrite(whole)
    assert (token, done, total) == (None, 3, 3)
    bucket.rename_blob(bucket.copy_blob(whole, bucket, "copied"), "renamed")
    assert bucket.get_blob("copied") is None and bucket.blob("renamed").download_as_bytes() == b"012"


def calls_in_batches(bucket):
    names = [f"batched{index}" for index in range(5)]
    for name in names:
        bucket.blob(name).upload_from_string("x")
    with bucket.client.batch():
        for name in names[:4]:
            bucket.blob(name).delete()
        kept = bucket.blob(names[4])
        kept.metadata = {"k": "v"}
        kept.patch()
    assert bucket.get_blob(names[0]) is None and bucket.get_blob(names[4]).metadata == {"k": "v"}

    def batch_of_nobody():
        with bucket.client.batch():
            bucket.blob("nobody").delete()

    refused(exceptions.NotFound, batch_of_nobody)


def transfers_many_at_once(bucket):
    folder = tempfile.mkdtemp()
    names = [f"f{index}" for index in range(10)]
    for name in names + ["big"]:
        with open(f"{folder}/{name}", "wb") as file:
            file.write(BIG if name == "big" else name.encode())
    transfer_manager.upload_many_from_filenames(
        bucket, names, source_directory=folder, blob_name_prefix="many/", worker_type=THREAD, raise_exception=True
    )
    os.mkdir(f"{folder}/out")
    transfer_manager.download_many_to_path(
        bucket, [f"many/{name}" for name in names], destination_directory=f"{folder}/out", worker_type=THREAD
    )
    assert open(f"{folder}/out/many/f7").read() == "f7"
    size = 6 * 1024 * 1024
    transfer_manager.upload_chunks_concurrently(
        f"{folder}/big", bucket.blob("in-parts"), chunk_size=size, worker_type=THREAD
    )
    transfer_manager.download_chunks_concurrently(
        bucket.blob("in-parts"), f"{folder}/back", chunk_size=size, worker_type=THREAD
    )
    assert open(f"{folder}/back", "rb").read() == BIG


def keeps_versions_policies_and_encodings(bucket):
    bucket.versioning_enabled = True
    bucket.labels = {"team": "vision"}
    bucket.patch()
    for content in ("1", "2"):
        bucket.blob("versioned").upload_from_string(content)
    assert len(list(bucket.list_blobs(prefix="versioned", versions=True))) == 2
    assert bucket.test_iam_permissions(["storage.objects.get"]) == ["storage.objects.get"]
    policy = bucket.get_iam_policy(requested_policy_version=3)
    count = len(policy.bindings)
    policy.bindings.append({"role": "roles/storage.objectViewer", "members": {"projectViewer:p"}})
    if URL:
        bucket.set_iam_policy(policy)
        assert len(bucket.get_iam_policy().bindings) == count + 1
    packed = bucket.blob("packed")
    packed.content_encoding = "gzip"
    packed.upload_from_string(gzip.compress(b"plain"))
    assert packed.download_as_bytes() == b"plain" and packed.download_as_bytes(raw_download=True)[:2] == b"\x1f\x8b"


def signs_urls(bucket):
    if not URL:
        return
    from google.oauth2 import service_account

    key = json.load(urllib.request.urlopen(f"{URL}/_rehearsal/service-account-key"))
    credentials = service_account.Credentials.from_service_account_info(key)
    blob = bucket.blob("signed ünï")
    common = {"version": "v4", "expiration": 60, "credentials": credentials, "api_access_endpoint": URL}
    put = blob.generate_signed_url(method="PUT", content_type="text/x", **common)
    request = urllib.request.Request(put, data=b"by URL", method="PUT", headers={"content-type": "text/x"})
    assert urllib.request.urlopen(request).status == 200
    assert urllib.request.urlopen(blob.generate_signed_url(**common)).read() == b"by URL"


def deletes_all_and_the_bucket(bucket):
    refused(exceptions.Conflict, bucket.delete)
    for blob in bucket.list_blobs(versions=True):
        bucket.blob(blob.name, generation=blob.generation).delete()
    bucket.delete()
    refused(exceptions.NotFound, bucket.reload)


CLAIMS = [
    writes_and_reads_under_preconditions,
    uploads_in_chunks_and_reads_ranges,
    lists_pages_prefixes_and_globs,
    composes_rewrites_copies_and_renames,
    calls_in_batches,
    transfers_many_at_once,
    keeps_versions_policies_and_encodings,
    signs_urls,
    deletes_all_and_the_bucket,
]


def main():
    bucket = client().create_bucket(sys.argv[1], location="us-central1")
    for claim in CLAIMS:
        wrong = None
        try:
            claim(bucket)
        except Exception as error:  # whatever it is, it is told, and the next claim is tried
            wrong = f"{type(error).__name__}: {error}"
        print(json.dumps({"claim": claim.__name__.replace("_", " "), "wrong": wrong}), flush=True)


main()
