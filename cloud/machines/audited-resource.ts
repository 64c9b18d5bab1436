/** A resource in a provider's own listing. The auditor's reader of each kind judges nothing and leaves nothing out. */
export interface AuditedResource {
  /** The provider's name for it, such as `node`. */
  readonly kind: string;
  /** The unit by which the provider lists resources: on Cloud TPU the Google project. */
  readonly account: string;
  readonly zone: string;
  readonly name: string;
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The type's name, for people. */
  readonly accelerator: string;
  /** Absent if the type is unknown. A request counts the chips that it asks for, and its machines count them again. */
  readonly chips?: number;
  /** Only for machines: the request that they belong to. */
  readonly request?: string;
  /** RFC 3339. */
  readonly createTime?: string;
}
