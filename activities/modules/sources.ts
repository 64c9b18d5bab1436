import type { FileSource } from '../../domain/file-source.js';

/** Contents of the submitter's files, by their path as the job file has it; a folder as an archive, by `archiveOf` its path. */
export type ModuleFiles = ReadonlyMap<string, Buffer | FileSource>;

export interface KeyPair {
  readonly privateKey: string;
  /** OpenSSH line. */
  readonly publicKey: string;
}

/** What modules are made of beside the job's spec. */
export interface ModuleSources {
  readonly files: ModuleFiles;
  /** Of the job's identities, in their order. */
  readonly keys: readonly KeyPair[];
}
