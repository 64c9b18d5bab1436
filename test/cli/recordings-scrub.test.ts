import assert from 'node:assert/strict';
import fc from 'fast-check';
import { scrubbed } from '../../cli/doctor/recordings/scrub.js';
import type { Exchange } from '../../cloud/exchange.js';

const PROJECT = 'acme-vision-4711';
const letters = (alphabet: string, min: number, max = min): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...Array.from(alphabet)), { minLength: min, maxLength: max }).map((drawn) => drawn.join(''));
const WORD = 'abcdefghijklmnopqrstuvwxyz';
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Each kind of secret, with the part of it that must not be in a file. */
const SECRETS: Readonly<Record<string, fc.Arbitrary<{ readonly text: string; readonly hidden: string }>>> = {
  'an e-mail address': letters(WORD, 5, 9).map((name) => ({ text: `q${name}@acme-corp.example`, hidden: `q${name}` })),
  'an access token': letters(BASE64, 30, 60).map((rest) => ({ text: `ya29.${rest}`, hidden: rest })),
  'a bearer header': letters(BASE64, 24, 40).map((rest) => ({ text: `Bearer ${rest}`, hidden: rest })),
  'a JWT': letters(BASE64, 30, 60).map((rest) => ({ text: `eyJhbGciOi.${rest}.${rest}`, hidden: rest })),
  'an IPv4 address': fc
    .tuple(fc.integer({ min: 11, max: 191 }), fc.integer({ min: 1, max: 254 }))
    .map(([a, b]) => ({ text: `${a}.${b}.37.${b}`, hidden: `${a}.${b}.37.${b}` })),
  'an IPv6 address': letters('0123456789abcdef', 4).map((part) => ({
    text: `fd12:${part}:9a3:0:8d3:13:8a2e:737`,
    hidden: `:${part}:`,
  })),
  'a public key': letters(BASE64, 40, 80).map((key) => ({ text: `ssh-ed25519 AAAAC3${key} kim@desk`, hidden: key })),
  'a private key': letters(BASE64, 40, 80).map((key) => ({
    text: `-----BEGIN OPENSSH PRIVATE KEY-----\n${key}\n-----END OPENSSH PRIVATE KEY-----`,
    hidden: key,
  })),
  'the project id': fc.constant({ text: PROJECT, hidden: PROJECT }),
  'another project': letters(WORD, 6, 12).map((name) => ({
    text: `projects/zz${name}-9/locations/-`,
    hidden: `zz${name}-9`,
  })),
  'a project with a date in its name': letters(WORD, 6, 12).map((name) => ({
    text: `projects/zz${name}-20240817/locations/-`,
    hidden: `zz${name}`,
  })),
  'a project number': fc
    .integer({ min: 210_000_000_000, max: 999_999_999_999 })
    .map((number) => ({ text: `projects/${number}`, hidden: String(number) })),
  'a number by itself': fc
    .integer({ min: 210_000_000_000, max: 999_999_999_999 })
    .map((number) => ({ text: String(number), hidden: String(number) })),
};

/** Where a text may stand in an exchange: in each of these a planted secret is `$`, or in the midst of Google's words. */
const PLACES: Readonly<Record<string, (text: string) => Partial<Exchange>>> = {
  'a text of an error': (text) => ({
    code: 7,
    answer: { code: 7, message: `User '${text}' may not do that, says ${text}.` },
  }),
  'the metadata of an ErrorInfo': (text) => ({
    answer: {
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'X', metadata: { consumer: text } }],
    },
  }),
  'instance metadata': (text) => ({ answer: { nodes: [{ metadata: { 'startup-script': `export TOKEN=${text}` } }] } }),
  'a key of instance metadata': (text) => ({ answer: { metadata: { [text]: 'x' } } }),
  'a label': (text) => ({ answer: { node: { labels: { team: text, [text]: 'x' } } } }),
  'the description of a node': (text) => ({ answer: { acceleratorType: 'v5litepod-1', description: text } }),
  'a network': (text) => ({ answer: { networkConfig: { network: text }, tags: [text, 'ssh'] } }),
  'an endpoint': (text) => ({
    answer: { networkEndpoints: [{ ipAddress: text, accessConfig: { externalIp: text } }] },
  }),
  'a service account': (text) => ({ request: { node: { serviceAccount: { email: text } } } }),
  'a field that nobody knows': (text) => ({ answer: { somethingNew: { deeper: [text, { deepest: `a ${text} b` }] } } }),
  'a key of a map that nobody knows': (text) => ({ answer: { somethingNew: { [`${text} `]: 1 } } }),
  'a page token': (text) => ({ answer: { nextPageToken: text }, request: { pageToken: text } }),
  'a guest attribute': (text) => ({
    answer: { queryValue: { items: [{ namespace: 'h', key: 'hostname', value: text }] } },
  }),
  'the answer of a proxy': (text) => ({ wire: 'rest', code: 502, answer: `<html>${text}</html>` }),
  'a path': (text) => ({ wire: 'rest', method: `GET tpu /v2/${text}/nodes?filter=${text}` }),
};

const exchange = (part: Partial<Exchange>): Exchange => ({
  ...{ wire: 'grpc', method: 'google.cloud.tpu.v2.Tpu/GetNode', request: null, code: 0, answer: null },
  ...part,
});

describe('a recording that is scrubbed', () => {
  for (const [kind, secret] of Object.entries(SECRETS))
    it(`never shows ${kind}, wherever it stood`, () => {
      fc.assert(
        fc.property(secret, ({ text, hidden }) => {
          for (const [place, put] of Object.entries(PLACES)) {
            const planted = [exchange(put(text))];
            assert.ok(JSON.stringify(planted).includes(JSON.stringify(hidden).slice(1, -1)), place);
            const shown = JSON.stringify(scrubbed(planted, PROJECT));
            assert.ok(!shown.includes(hidden), `${place}: ${shown}`);
          }
        }),
        { numRuns: 60 },
      );
    });

  it('never shows a name that another exchange gave away as one', () => {
    const name = 'secret-llm-run';
    const answers = [
      { code: 6, message: `Node ${name} is there already (${name}-0 too, not x${name})` },
      { name: `projects/${PROJECT}/locations/us-central1-a/nodes/${name}` },
      { tpu: { nodeSpec: [{ nodeId: `${name}-0` }] } },
    ];
    const [first, second] = scrubbed(
      answers.map((answer) => exchange({ answer })),
      PROJECT,
    );
    assert.deepEqual(first?.answer, {
      code: 6,
      message: 'Node name-1 is there already (name-2 too, not xsecret-llm-run)',
    });
    assert.deepEqual(second?.answer, { name: 'projects/project-1/locations/us-central1-a/nodes/name-1' });
  });

  it('never shows a text that somebody wrote, whatever it says', () => {
    const words = 'Our Secret Whale';
    const answer = {
      ...{
        displayName: words,
        name: words,
        acceleratorType: 'v5litepod-1',
        description: words,
        tags: [words, 'whale'],
      },
      ...{
        labels: { whale: words },
        metadata: { 'startup-script': words, whale: words },
        serviceAccount: { email: words },
      },
      ...{ items: [{ name: 'whale-rule', description: words }], allowedValues: [words], somethingNew: { of: [words] } },
      ...{ queryValue: { items: [{ namespace: 'whale', key: 'whale', value: words }] }, members: [`group:${words}`] },
    };
    assert.doesNotMatch(JSON.stringify(scrubbed([exchange({ answer })], PROJECT)), /whale/i);
  });

  it("keeps Google's words, and what is equal stays equal", () => {
    const texts = [
      `There is no more capacity in the zone "us-east1-d"; you can try in another zone [EID: 0x1bc8f9d790be9142]`,
      "Quota 'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' exhausted. Limit 20800 in region us-central2",
      "Permission 'tpu.nodes.get' denied on resource (or it may not exist).",
    ];
    const answer = {
      name: `projects/${PROJECT}/locations/us-central1-a/nodes/n`,
      ...{
        state: 'READY',
        health: 'UNHEALTHY_MAINTENANCE',
        acceleratorType: 'v5litepod-16',
        runtimeVersion: 'v2-alpha-tpuv5-lite',
      },
      ...{ createTime: '2026-07-25T10:46:03.123456789Z', schedulingConfig: { spot: true }, cidrBlock: '10.164.0.0/20' },
      networkEndpoints: [
        { ipAddress: '10.164.0.7', port: 8470 },
        { ipAddress: '10.164.0.8', port: 8470 },
      ],
      queuedResource: `projects/${PROJECT}/locations/us-central1-a/queuedResources/n`,
      labels: { 'jobctl-generation': '2', 'jobctl-job': 'train-x', team: 'train-x' },
      texts: texts.map((message) => ({ message })),
    };
    const [shown] = scrubbed([exchange({ answer })], PROJECT);
    assert.deepEqual(shown?.answer, {
      ...answer,
      name: 'projects/project-1/locations/us-central1-a/nodes/name-1',
      cidrBlock: '192.0.2.1',
      networkEndpoints: [
        { ipAddress: '192.0.2.2', port: 8470 },
        { ipAddress: '192.0.2.3', port: 8470 },
      ],
      queuedResource: 'projects/project-1/locations/us-central1-a/queuedResources/name-1',
      labels: { 'jobctl-generation': '2', 'jobctl-job': 'labels-value-1', 'labels-key-1': 'labels-value-1' },
    });
  });
});
