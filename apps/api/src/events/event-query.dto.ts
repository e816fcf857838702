import { EVENT_RESOURCE_TYPES, EVENT_TYPES, type EventQuery } from '@banking/domain';
import { PageQueryDto } from '../input/page.js';
import {
  ChoiceParameter,
  ChoicesParameter,
  IdParameter,
  InstantParameter,
  WaitParameter,
} from '../input/parameter.decorator.js';

/** The filters of the list of events. An event is listed if it matches all of them. */
export class EventQueryDto extends PageQueryDto implements EventQuery {
  @ChoicesParameter(
    'ours',
    EVENT_TYPES.map(({ type }) => type),
    'Events of this type. Repeat it for events of any of several types.',
  )
  readonly type?: NonNullable<EventQuery['type']>;

  @ChoiceParameter('ours', EVENT_RESOURCE_TYPES, 'Events of resources of this type.')
  readonly resourceType?: NonNullable<EventQuery['resourceType']>;

  @IdParameter('ours', 'Events of the resource with this id. Requires `resourceType`.')
  readonly resourceId?: number;

  @InstantParameter('ours', 'Changed at this instant or later.')
  readonly createdFrom?: string;

  @InstantParameter('ours', 'Changed before this instant.')
  readonly createdTo?: string;

  @WaitParameter()
  readonly wait?: number;
}
