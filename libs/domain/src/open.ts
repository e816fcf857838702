/**
 * A text with known values, to which others may be added: a bank or a provider can add a value at any time. Unknown values are passed
 * on and never refused.
 */
export type Open<Values extends string> = Values | (string & Record<never, never>);

/** The known values of an {@link Open} text. */
export type Known<Text extends string> = Text extends string ? (string extends Text ? never : Text) : never;
