/** Headers that no two answers share, whoever gives them. */
export const TOLD_APART: readonly string[] = ['date', 'x-request-id'];
