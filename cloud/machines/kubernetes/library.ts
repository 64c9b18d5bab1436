/**
 * The parts of the Kubernetes client (58 MB) that jobctl uses. Code that needs the client loads this module and passes it on: a
 * worker from its own files, the command line from the package @jobctl/worker (docs/adr/0061), so that the package jobctl does
 * not depend on it.
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
