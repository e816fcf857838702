type Level = 'info' | 'warn';

/** One JSON line for an event. Only what is named is logged: ids and words of ours, never what a payment says. */
export function log(level: Level, msg: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const line = { level, time: new Date().toISOString(), ...fields, msg };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** What may be told of an error. The database puts rows into `detail` and `where`, so those stay out. */
export function describeError(thrown: unknown): Readonly<Record<string, unknown>> {
  if (!(thrown instanceof Error)) return { type: typeof thrown };
  const { code, statement } = thrown as Error & Record<'code' | 'statement', unknown>;
  return {
    type: thrown.name,
    message: thrown.message,
    stack: thrown.stack,
    code: typeof code === 'string' ? code : undefined,
    statement: typeof statement === 'string' ? statement : undefined,
    cause: thrown.cause instanceof Error ? `${thrown.cause.name}: ${thrown.cause.message}` : undefined,
  };
}
