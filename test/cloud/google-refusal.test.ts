import assert from 'node:assert/strict';
import { type GoogleError, googleRefusal, NO_CREDENTIALS, refusalText } from '../../cloud/google-refusal.js';

const LOGIN = "run 'gcloud auth application-default login'";
const ENABLE =
  "the Cloud TPU API (tpu.googleapis.com) is not enabled in project 123: run 'gcloud services enable tpu.googleapis.com --project=123' and wait a few minutes";
const EXPIRED = `the Google login has expired, was revoked, or is not accepted: ${LOGIN}; of a service account: is its key still there?`;
const RUN_OUT = `the Google login has run out: the organization asks for a new one from time to time: ${LOGIN}`;

// The errors are Google's own, as users reported them (docs/facts.md, "Cloud TPU"; issues of google-auth-library, 2023 to 2025).
const cases: Record<string, { error: GoogleError; want: string }> = {
  'no login at all': {
    error: {
      message:
        'Could not load the default credentials. Browse to https://cloud.google.com/docs/authentication/getting-started for more information.',
    },
    want: `no Google credentials (Could not load the default credentials): ${LOGIN} or set GOOGLE_APPLICATION_CREDENTIALS`,
  },
  'a key file that cannot be read': {
    error: { message: "Expected ',' or '}' in JSON", reason: NO_CREDENTIALS },
    want: `no Google credentials (Expected ',' or '}' in JSON): ${LOGIN} or set GOOGLE_APPLICATION_CREDENTIALS`,
  },
  'a login that was revoked': { error: { message: 'invalid_grant' }, want: EXPIRED },
  'a login that the organization lets run out, inside gRPC': {
    error: {
      code: 2,
      message:
        'Getting metadata from plugin failed with error: {"error":"invalid_grant","error_description":"reauth related error (invalid_rapt)","error_uri":"https://support.google.com/a/answer/9368756","error_subtype":"invalid_rapt"}',
    },
    want: RUN_OUT,
  },
  'a token that the API does not take, over gRPC': {
    error: { code: 16, message: 'Request had invalid authentication credentials.', reason: 'ACCESS_TOKEN_EXPIRED' },
    want: EXPIRED,
  },
  'a token that the API does not take, over HTTP': {
    error: { httpStatus: 401, message: 'Invalid Credentials' },
    want: EXPIRED,
  },
  "a VM's narrow scopes": {
    error: { code: 7, message: 'Request had insufficient authentication scopes.' },
    want: "the access scopes of this VM, or of the login, are too narrow for Google's APIs: give the VM the scope cloud-platform ('gcloud compute instances set-service-account', while it is stopped), or run 'gcloud auth application-default login'",
  },
  'an API that is off, by its text': {
    error: {
      code: 7,
      message:
        'Cloud TPU API has not been used in project 123 before or it is disabled. Enable it by visiting https://console.developers.google.com/apis/api/tpu.googleapis.com/overview?project=123 then retry.',
    },
    want: ENABLE,
  },
  'an API that is off, by its reason': {
    error: {
      httpStatus: 403,
      message: 'disabled',
      reason: 'SERVICE_DISABLED',
      metadata: { service: 'tpu.googleapis.com', consumer: 'projects/123' },
    },
    want: ENABLE,
  },
  'a project without billing': {
    error: { code: 7, message: 'x', reason: 'BILLING_DISABLED', metadata: { consumer: 'projects/p' } },
    want: "project p has no billing account that is open: run 'gcloud billing projects link p --billing-account=ACCOUNT'",
  },
  'a project that may not be counted for': {
    error: {
      httpStatus: 403,
      message:
        'Caller does not have required permission to use project my-project. Grant the caller the roles/serviceusage.serviceUsageConsumer role.',
      reason: 'USER_PROJECT_DENIED',
    },
    want: "this login may not have its calls counted for project my-project (serviceusage.services.use): run 'gcloud auth application-default set-quota-project PROJECT' with one that it may use, or 'gcloud projects add-iam-policy-binding my-project --member=user:EMAIL --role=roles/serviceusage.serviceUsageConsumer'",
  },
  'a zone that is none': {
    error: { code: 7, message: "Permission denied on 'locations/us-centra1-a' (or it may not exist)." },
    want: "zone us-centra1-a does not exist, or this project may not use it: see 'gcloud compute tpus locations list'",
  },
  'a permission on a project, by its text': {
    error: {
      code: 7,
      message: "Permission 'tpu.nodes.create' denied on 'projects/p/locations/us-central1-a' (or it may not exist).",
    },
    want: "this login has no permission tpu.nodes.create on projects/p/locations/us-central1-a, or that does not exist: an owner runs 'gcloud projects add-iam-policy-binding p --member=user:EMAIL --role=roles/tpu.admin'",
  },
  'a permission on a project, by its reason': {
    error: {
      code: 7,
      message: 'The caller does not have permission',
      reason: 'IAM_PERMISSION_DENIED',
      metadata: { permission: 'tpu.nodes.list', resource: '//tpu.googleapis.com/projects/p' },
    },
    want: "this login has no permission tpu.nodes.list on projects/p, or that does not exist: an owner runs 'gcloud projects add-iam-policy-binding p --member=user:EMAIL --role=roles/tpu.admin'",
  },
  'a permission of Compute Engine': {
    error: {
      httpStatus: 403,
      message: "Required 'compute.networks.get' permission for 'projects/p/global/networks/default'",
    },
    want: "this login has no permission compute.networks.get on projects/p/global/networks/default, or that does not exist: an owner runs 'gcloud projects add-iam-policy-binding p --member=user:EMAIL --role=roles/compute.viewer'",
  },
  'a permission on a bucket that only the caller can name': {
    error: {
      httpStatus: 403,
      message:
        "alice@example.com does not have storage.objects.get access to the Google Cloud Storage object. Permission 'storage.objects.get' denied on resource (or it may not exist).",
      metadata: { resource: 'gs://b' },
    },
    want: "this login has no permission storage.objects.get on gs://b, or that does not exist: an owner runs 'gcloud storage buckets add-iam-policy-binding gs://b --member=user:EMAIL --role=roles/storage.objectAdmin'",
  },
  'the right to run as a service account': {
    error: {
      code: 7,
      message: "Permission 'iam.serviceAccounts.actAs' denied on 'tpu@p.iam.gserviceaccount.com'",
    },
    want: "this login has no permission iam.serviceAccounts.actAs on tpu@p.iam.gserviceaccount.com, or that does not exist: an owner runs 'gcloud iam service-accounts add-iam-policy-binding tpu@p.iam.gserviceaccount.com --member=user:EMAIL --role=roles/iam.serviceAccountUser'",
  },
  'a project that is not there': {
    error: { code: 7, message: 'Permission denied on resource project no-such.', reason: 'CONSUMER_INVALID' },
    want: "project no-such does not exist, or this login has no right to see it: compare its id with 'gcloud projects list'; an id is not the name nor the number",
  },
};

describe("a refusal of Google's", () => {
  for (const [name, { error, want }] of Object.entries(cases)) {
    it(`${name} is told with its remedy`, () => assert.equal(refusalText(error), want));
  }

  const others: Record<string, GoogleError> = {
    'a missing resource': { code: 5, message: "Resource 'projects/p/locations/z/nodes/n' was not found" },
    'no capacity': { code: 8, message: 'There is no more capacity in the zone "z"' },
    'a network that is down': { code: 14, message: 'Getting metadata from plugin failed with error: ENOTFOUND' },
    'a forbidden call without a known reason': { code: 7, message: 'The caller does not have permission' },
  };
  for (const [name, error] of Object.entries(others)) {
    it(`${name} is none of credentials, rights, project or API: it keeps its own text`, () => {
      assert.equal(googleRefusal(error), undefined);
      assert.equal(refusalText(error), error.message);
    });
  }
});
