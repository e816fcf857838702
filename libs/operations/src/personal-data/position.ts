/** Where a page ended that was read or erased. */
export interface PersonalDataPosition {
  /** Null at the beginning, and after the last page. */
  readonly part: string | null;
  readonly after_id: bigint | null;
}

export const BEGINNING: PersonalDataPosition = { part: null, after_id: null };

/** As parameters of the next page. */
export const positionOf = ({ part, after_id: id }: PersonalDataPosition) => [part, id?.toString() ?? null] as const;
