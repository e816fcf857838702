/** Resolves when the reader has taken the text. */
export function toStandardOutput(text: string): Promise<void> {
  return new Promise((done, fail) => {
    process.stdout.write(text, (error) => (error ? fail(error) : done()));
  });
}

/** The report of a command whose reader closed the pipe. @throws any other error */
export function unlessPipeClosed(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 'The reader closed the pipe. The output is incomplete.';
  throw error;
}
