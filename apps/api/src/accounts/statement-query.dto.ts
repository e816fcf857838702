import type { StatementQuery } from '@banking/domain';
import { PageQueryDto } from '../input/page.js';
import { InstantOrDayParameter } from '../input/parameter.decorator.js';

/** The period of a statement. */
export class StatementQueryDto extends PageQueryDto implements Omit<StatementQuery, 'accountId'> {
  @InstantOrDayParameter(
    'ours',
    'Begin of the period, inclusive: an instant (RFC 3339 with an offset) for a statement by booking, a day (`2026-11-01`) by value date.',
  )
  readonly from!: string;

  @InstantOrDayParameter('ours', 'End of the period, exclusive: an instant or a day like `from`, and not earlier.')
  readonly to!: string;
}
