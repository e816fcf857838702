import type { StatementQuery } from '@banking/domain';
import { CursorParameter, InstantOrDayParameter, StatementLimitParameter } from '../input/parameter.decorator.js';

/** Which period is wanted. */
export class StatementQueryDto implements Omit<StatementQuery, 'accountId'> {
  @InstantOrDayParameter(
    'ours',
    'Where the period begins, inclusive: an instant (RFC 3339 with an offset) to go by booking, a day (`2026-11-01`) to go by value date.',
  )
  readonly from!: string;

  @InstantOrDayParameter('ours', 'Where it ends, exclusive: an instant or a day as `from` is, and not before it.')
  readonly to!: string;

  @StatementLimitParameter()
  readonly limit?: number;

  @CursorParameter()
  readonly cursor?: string;
}
