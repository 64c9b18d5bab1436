"""Names of Services for the pods of kube-node, which has no cluster DNS: NAME.NAMESPACE.svc.DOMAIN, by `kubectl get endpoints`.

Usage: pod-dns.py ADDRESS KUBECTL. Runs in the node's network namespace, at the address that the pods' resolv.conf names.
"""
import json
import socket
import struct
import subprocess
import sys

address, kubectl = sys.argv[1:]
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((address, 53))
print('ready', flush=True)


def addresses(service, namespace):
    asked = subprocess.run([kubectl, '-n', namespace, 'get', 'endpoints', service, '-o', 'json'], capture_output=True)
    subsets = json.loads(asked.stdout).get('subsets') or [] if asked.returncode == 0 else []
    return [each['ip'] for one in subsets for key in ('addresses', 'notReadyAddresses') for each in one.get(key) or []]


while True:
    query, client = server.recvfrom(512)
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack('>H', query[at + 1 : at + 3])[0]
    is_service = len(labels) > 3 and labels[2] == 'svc'
    found = addresses(labels[0], labels[1]) if is_service and kind == 1 else []
    head = query[:2] + struct.pack('>HHHHH', 0x8180 if is_service else 0x8183, 1, len(found), 0, 0)
    answers = b''.join(b'\xc0\x0c' + struct.pack('>HHIH', 1, 1, 2, 4) + socket.inet_aton(ip) for ip in found)
    server.sendto(head + query[12 : at + 5] + answers, client)
