import { encode, protoRoot } from '../../rehearsal/tpu/protos.js';
import type { RehearsalEndpoints } from '../../rehearsal/index.js';
import type { RawCall } from './raw-calls.js';

const PARENT = 'projects/p/locations/us-central1-a';
const SCRIPT = { 'startup-script': 'touch /root/evil' };
const NODE = { acceleratorType: 'v5litepod-8', runtimeVersion: 'v2-alpha-tpuv5-lite', metadata: SCRIPT };
const JSON_TYPE = { 'content-type': 'application/json' };

export const base64 = (content: object | string): string =>
  Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)).toString('base64');

/** One call with an effect at each API of a rehearsal. Without a token; with one, each of them would do what it says. */
export function attacks(endpoints: RehearsalEndpoints): readonly RawCall[] {
  const { tpu, rest, store, admin, kubernetes = '' } = endpoints;
  const post = (name: string, url: string, body: object): RawCall => ({
    ...{ name, wire: url.startsWith('https:') ? 'https' : 'http', url, method: 'POST', headers: JSON_TYPE },
    body: base64(body),
  });
  const bytes = encode(protoRoot().lookupType('google.cloud.tpu.v2.CreateNodeRequest'), {
    ...{ parent: PARENT, nodeId: 'evil-grpc', node: NODE },
  });
  const pod = { metadata: { name: 'evil' }, spec: { containers: [{ name: 'c', image: 'i', command: ['true'] }] } };
  return [
    post('rest', `${rest}/v2/${PARENT}/nodes?nodeId=evil-rest`, NODE),
    {
      name: 'grpc',
      wire: 'grpc',
      url: `http://${tpu}/google.cloud.tpu.v2.Tpu/CreateNode`,
      body: bytes.toString('base64'),
    },
    post('compute', `${rest}/compute/v1/projects/p/zones/us-central1-a/instances`, {
      ...{ name: 'evil-vm', machineType: 'zones/us-central1-a/machineTypes/n2-standard-8' },
      ...{
        disks: [
          { boot: true, initializeParams: { sourceImage: 'projects/debian-cloud/global/images/family/debian-12' } },
        ],
      },
      networkInterfaces: [{}],
    }),
    post('bucket', `${store}/storage/v1/b?project=p`, { name: 'evil-bucket' }),
    {
      ...{ name: 'object', wire: 'http', method: 'POST', headers: { 'content-type': 'application/octet-stream' } },
      ...{ url: `${store}/upload/storage/v1/b/jobs/o?uploadType=media&name=evil`, body: base64('evil') },
    },
    { name: 'xml object', wire: 'http', method: 'PUT', url: `${store}/jobs/evil-xml`, body: base64('evil') },
    { name: 'signing key', wire: 'http', url: `${store}/_rehearsal/service-account-key` },
    post('admin', `${admin}/admin/hold`, { state: 'DELETING' }),
    post('admin token', `${admin}/admin/token`, {}),
    { name: 'admin reading', wire: 'http', url: `${admin}/admin/dump` },
    post('kubernetes', `${kubernetes}/api/v1/namespaces/default/pods`, pod),
    { name: 'kubernetes reading', wire: 'https', url: `${kubernetes}/api/v1/namespaces/default/pods` },
  ];
}

/** The same, by whoever has what it takes. */
export function withToken(call: RawCall, token: string): RawCall {
  return { ...call, headers: { ...call.headers, authorization: `Bearer ${token}` } };
}

/** Of a VM: what its job's processes get without asking. @param host `ADDRESS` or `ADDRESS:PORT` */
export function metadataCalls(host: string): readonly RawCall[] {
  const headers = { 'metadata-flavor': 'Google' };
  const base = `http://${host}/computeMetadata/v1/instance`;
  return [
    { name: 'VM token', wire: 'http', url: `${base}/service-accounts/default/token`, headers },
    { name: 'VM attributes', wire: 'http', url: `${base}/attributes/?recursive=true`, headers },
  ];
}
