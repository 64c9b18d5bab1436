"""Google's own Python client against a rehearsal: create, wait, list, update, refuse, delete; prints one line for each client.

Usage: rehearsal_client.py GRPC_HOST_PORT REST_HOST_PORT TOKEN_FILE
"""

import sys

import grpc
from google.api_core.exceptions import AlreadyExists, GoogleAPICallError, NotFound
from google.cloud import tpu_v2, tpu_v2alpha1
from google.cloud.tpu_v2.services.tpu import transports
from google.cloud.tpu_v2alpha1.services.tpu import transports as alpha_transports
from google.oauth2.credentials import Credentials

PARENT = "projects/p/locations/us-central1-a"


class WithToken(grpc.UnaryUnaryClientInterceptor):
    """Puts the rehearsal's token into each call: gRPC attaches no credentials to a channel in the clear."""

    def __init__(self, token):
        self.header = ("authorization", f"Bearer {token}")

    def intercept_unary_unary(self, continuation, details, request):
        return continuation(details._replace(metadata=[*(details.metadata or []), self.header]), request)


def clients(grpc_address, rest_address, token_file):
    with open(token_file, encoding="ascii") as file:
        token = file.read()
    for version, tpu, kinds in (("v2", tpu_v2, transports), ("v2alpha1", tpu_v2alpha1, alpha_transports)):
        channel = grpc.intercept_channel(grpc.insecure_channel(grpc_address), WithToken(token))
        yield f"{version}-grpc", tpu, tpu.TpuClient(transport=kinds.TpuGrpcTransport(channel=channel))
        # The library has no REST transport in v2alpha1 (google-cloud-tpu 1.28).
        if hasattr(kinds, "TpuRestTransport"):
            rest = kinds.TpuRestTransport(host=rest_address, url_scheme="http", credentials=Credentials(token))
            yield f"{version}-rest", tpu, tpu.TpuClient(transport=rest)


def drive(name, tpu, client):
    node = tpu.Node(accelerator_type="v5litepod-8", runtime_version="v2-alpha-tpuv5-lite", labels={"by": name})
    made = client.create_node(parent=PARENT, node_id=name, node=node).result(timeout=30)
    assert made.state == tpu.Node.State.READY, made.state
    assert [found.name for found in client.list_nodes(parent="projects/p/locations/-")] == [made.name]
    changed = tpu.Node(name=made.name, labels={"by": name, "more": "yes"})
    client.update_node(node=changed, update_mask={"paths": ["labels"]}).result(timeout=30)
    assert dict(client.get_node(name=made.name).labels) == {"by": name, "more": "yes"}
    try:
        client.create_node(parent=PARENT, node_id=name, node=node)
        raise AssertionError("a node was made twice")
    except GoogleAPICallError as refused:
        # Over REST the library makes the class from the HTTP status: 409 is Conflict, of which this is one kind.
        assert refused.code == 409 and "already exists" in refused.message, refused
        assert isinstance(refused, AlreadyExists) or name.endswith("rest"), type(refused)
        detail = refused.details[0]
        named = detail["resourceName"] if isinstance(detail, dict) else detail.resource_name
        assert named == made.name, refused.details
    client.delete_node(name=made.name).result(timeout=30)
    try:
        client.get_node(name=made.name)
        raise AssertionError("a deleted node is there")
    except NotFound as gone:
        assert gone.message.endswith(f"Resource '{made.name}' was not found"), gone.message
    queue(name, tpu, client, node)


def queue(name, tpu, client, node):
    spec = {"parent": PARENT, "node_id": f"{name}-node", "node": node}
    wanted = tpu.QueuedResource(tpu={"node_spec": [spec]}, spot={})
    request = {"parent": PARENT, "queued_resource_id": name, "queued_resource": wanted}
    made = client.create_queued_resource(request=request).result(timeout=30)
    active = tpu.QueuedResourceState.State.ACTIVE
    for _ in range(500):
        if client.get_queued_resource(name=made.name).state.state == active:
            break
    else:
        raise AssertionError(f"{made.name} did not become ACTIVE")
    operation = client.delete_queued_resource(request={"name": made.name, "force": True})
    # v2alpha1 declares a result that the service does not send: Google's own samples catch what comes of it.
    try:
        operation.result(timeout=30)
    except TypeError:
        assert name.startswith("v2alpha1"), name
    assert list(client.list_queued_resources(parent=PARENT)) == []


for client_name, module, google_client in clients(*sys.argv[1:4]):
    drive(client_name, module, google_client)
    print(client_name, "ok")
