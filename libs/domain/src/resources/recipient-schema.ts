/**
 * One form of the details that a corridor requires of a beneficiary: a JSON Schema (2020-12) of `Beneficiary.data`. It compiles in
 * Ajv with `strict: true` and needs no plug-in. It may have other keywords than these.
 */
export interface RecipientSchema {
  readonly $schema: string;
  /** Stable: the same form has the same id. */
  readonly $id: string;
  /** For people who choose between forms. */
  readonly title: string;
  /** The source of the route. */
  readonly $comment?: string;
  readonly type: string;
  /** By the name of the field. */
  readonly properties: Readonly<Record<string, RecipientFieldSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: boolean;
  /** Invented details that pass. */
  readonly examples?: readonly Readonly<Record<string, string>>[];
}

/** The rules of one field of `Beneficiary.data`. */
export interface RecipientFieldSchema {
  readonly type: string;
  /** The label of the field. */
  readonly title: string;
  /** The rule in a sentence. */
  readonly description: string;
  readonly examples?: readonly string[];
  /** The source of the rule with its date. */
  readonly $comment?: string;
  /** ECMA-262 with the flag `u`. */
  readonly pattern?: string;
  readonly maxLength?: number;
  /** The only allowed text. */
  readonly const?: string;
  readonly enum?: readonly string[];
}
