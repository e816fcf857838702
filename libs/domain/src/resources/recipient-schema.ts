/**
 * What a corridor asks for about a beneficiary, in one way to write it down: a JSON Schema (2020-12) of `Beneficiary.data`. It
 * compiles in Ajv with `strict: true` and needs no plug-in. Other keywords than these may come.
 */
export interface RecipientSchema {
  readonly $schema: string;
  /** Stable: the same way to be paid has the same name. */
  readonly $id: string;
  /** What it is for, to be shown where there is a choice. */
  readonly title: string;
  /** Who says that there is such a route. */
  readonly $comment?: string;
  readonly type: string;
  /** By the name of the field. */
  readonly properties: Readonly<Record<string, RecipientFieldSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
  /** Details that pass, invented. */
  readonly examples?: readonly Readonly<Record<string, string>>[];
}

/** What one field of `Beneficiary.data` may hold. */
export interface RecipientFieldSchema {
  readonly type: string;
  /** What to ask for. */
  readonly title: string;
  /** The rule, in a sentence for people. */
  readonly description: string;
  readonly examples?: readonly string[];
  /** Who says so, and of what date. */
  readonly $comment?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  /** The one text it can be. */
  readonly const?: string;
  readonly enum?: readonly string[];
}
