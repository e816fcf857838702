/** What came back when every statement of a pipeline was carried out. */
export interface PipelineResults {
  /** The rows of each statement, in order. */
  readonly rows: readonly Record<string, unknown>[][];
  /** The command tag of each statement, such as `COMMIT` or `INSERT 0 1`. */
  readonly tags: readonly string[];
}
