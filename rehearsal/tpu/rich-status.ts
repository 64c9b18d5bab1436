import protobuf from 'protobufjs';
import type { ApiError, ErrorInfo } from './api-error.js';

/** google.rpc's error model, as far as it is used here: the TPU client's protos carry Status without its details' types. */
const root = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: 'string', id: 1 }, value: { type: 'bytes', id: 2 } } },
    Status: {
      fields: {
        code: { type: 'int32', id: 1 },
        message: { type: 'string', id: 2 },
        details: { rule: 'repeated', type: 'Any', id: 3 },
      },
    },
    ErrorInfo: {
      fields: {
        reason: { type: 'string', id: 1 },
        domain: { type: 'string', id: 2 },
        metadata: { keyType: 'string', type: 'string', id: 3 } as protobuf.IField,
      },
    },
  },
});

/** The trailer `grpc-status-details-bin` of a refused call: Google's clients read the error's reason from it. */
export function statusDetails({ code, message }: ApiError, info: ErrorInfo): Buffer {
  const detail = { type_url: 'type.googleapis.com/google.rpc.ErrorInfo', value: encode('ErrorInfo', { ...info }) };
  return encode('Status', { code, message, details: [detail] });
}

function encode(name: string, content: Record<string, unknown>): Buffer {
  const type = root.lookupType(name);
  return Buffer.from(type.encode(type.fromObject(content)).finish());
}
