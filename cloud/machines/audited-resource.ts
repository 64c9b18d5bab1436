/** Something that a provider holds, as its own listing says. The auditor's reader of each kind judges nothing and leaves nothing out. */
export interface AuditedResource {
  /** The provider's word, such as `node`. */
  readonly kind: string;
  /** What the provider lists resources by: on Cloud TPU the Google project. */
  readonly account: string;
  readonly zone: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  /** For people: the type's name. */
  readonly accelerator: string;
  /** Absent if the type is not known. A request counts what it asks for, so its machines count them again. */
  readonly chips?: number;
  /** Of machines: the request that they belong to. */
  readonly request?: string;
  /** RFC 3339. */
  readonly createTime?: string;
}
