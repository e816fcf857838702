type Level = 'info' | 'warn';

/** One JSON line for an event. Only what is named is logged: ids and words of ours, never what a payment says. */
export function log(level: Level, msg: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const line = { level, time: new Date().toISOString(), ...fields, msg };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
