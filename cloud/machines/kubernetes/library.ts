/**
 * The Kubernetes client, 58 MB, as jobctl uses it. Whoever needs it loads this module and hands it on: a worker from beside it, the
 * command line from the package @jobctl/worker (docs/adr/0061), so that the package jobctl does without.
 */
export {
  AuthorizationV1Api,
  BatchV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  Exec,
  KubeConfig,
  PortForward,
  ServerConfiguration,
  VersionApi,
} from '@kubernetes/client-node';
