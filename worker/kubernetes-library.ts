/** For the command line, which has no Kubernetes client of its own (docs/adr/0061). */
export * from '../cloud/machines/kubernetes/library.js';
