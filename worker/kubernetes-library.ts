/** For the command line, which has no Kubernetes client itself (docs/adr/0061). */
export * from '../cloud/machines/kubernetes/library.js';
