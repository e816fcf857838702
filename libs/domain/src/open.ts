/**
 * Text for which some values are known and others may come: a bank or a provider can add one at any time, and it is
 * passed on, never refused. The known ones are there for the reader and the editor.
 */
export type Open<Known extends string> = Known | (string & Record<never, never>);
