/** The reason of a refusal, or the message of any other error, or undefined if the work succeeds. */
export async function reasonOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error & { reason?: string }) => error.reason ?? error.message,
  );
}
