import type { AuditQuery } from '@banking/domain';
import { PageQueryDto } from '../input/page.js';
import { IdParameter, InstantParameter, TextParameter } from '../input/parameter.decorator.js';

/** The filters of the audit trail. An entry is listed if it matches all of them. */
export class AuditQueryDto extends PageQueryDto implements AuditQuery {
  @IdParameter('ours', 'Entries of this user.')
  readonly actor?: NonNullable<AuditQuery['actor']>;

  @TextParameter('ours', 64, 'Entries of this operation, such as `placeOrder`.')
  readonly operation?: string;

  @TextParameter('ours', 32, 'Entries of resources of this type, such as `order`. It needs `resourceId`.')
  readonly resourceType?: string;

  @IdParameter('ours', 'Entries of resources with this id.')
  readonly resourceId?: number;

  @InstantParameter('ours', 'At this instant or later.')
  readonly from?: string;

  @InstantParameter('ours', 'Before this instant.')
  readonly to?: string;
}
