import { type Event, EVENT_RESOURCE_TYPES, EVENT_TYPES, type EventChanges, type EventQuery } from '@banking/domain';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import {
  ChoiceParameter,
  ChoicesParameter,
  IdParameter,
  InstantParameter,
  WaitParameter,
} from '../input/parameter.decorator.js';

const listed = (values: readonly string[]) => values.map((value) => `\`${value}\``).join(', ');

class EventResourceDto {
  @OwnTextField(
    `The type of the resource. New ones may be added. Known values: ${listed(EVENT_RESOURCE_TYPES)}.`,
    'order',
  )
  readonly type!: Event['resource']['type'];

  @OwnIdField('The resource. The id of a payout is that of its transaction.', 1)
  readonly id!: number;
}

class EventStatusDto {
  @OwnTextField('The status before the change. Missing for a new resource.', 'active', false)
  readonly before?: string;

  @OwnTextField('The status after the change.', 'completed')
  readonly after!: string;
}

class EventChangesDto implements EventChanges {
  @OwnEdgeField(() => EventStatusDto, 'The status, if it changed.', false)
  readonly status?: EventStatusDto;

  @OwnIdField('The account that the resource belongs to.', 1, false)
  readonly accountID?: NonNullable<EventChanges['accountID']>;

  @OwnIdField('The recipient of the resource.', 1, false)
  readonly recipientID?: NonNullable<EventChanges['recipientID']>;

  @OwnIdField('The quote of an order.', 1, false)
  readonly quoteID?: NonNullable<EventChanges['quoteID']>;

  @OwnIdField('The order of an execution.', 1, false)
  readonly orderID?: NonNullable<EventChanges['orderID']>;

  @OwnIdField('The transaction of the resource. Of a transaction: the other one of a return.', 1, false)
  readonly transactionID?: NonNullable<EventChanges['transactionID']>;

  @OwnIdField('The service account of a key.', 9, false)
  readonly serviceAccountID?: NonNullable<EventChanges['serviceAccountID']>;
}

class EventActorDto {
  @OwnTextField(
    'Who made the change: `user`, `serviceAccount` (a program), `service` (another service), `operator`, `network` (the network of payouts) or `system`. ' +
      'New values may be added.',
    'system',
  )
  readonly type!: Event['actor']['type'];

  @OwnIdField('The user or the service account.', 1, false)
  readonly id?: NonNullable<Event['actor']['id']>;
}

export class EventDto implements Event {
  @OwnIdField('The event. Later events of the workspace have greater ids.', 48)
  readonly id!: Event['id'];

  @OwnTextField(
    `What happened. New types may be added; ignore those you do not know. Known values: ${listed(EVENT_TYPES.map(({ type }) => type))}.`,
    'order.completed',
  )
  readonly type!: Event['type'];

  @OwnTimeField('The time of the change.', true)
  readonly createdAt!: Event['createdAt'];

  @Field('ours', {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    description: '1 for the first event of the resource, then without a gap.',
    example: 2,
  })
  readonly sequence!: number;

  @OwnEdgeField(() => EventResourceDto, 'The resource that changed. Read it for its contents.')
  readonly resource!: EventResourceDto;

  @OwnEdgeField(() => EventChangesDto, 'The status before and after, and ids of what belongs to the resource.')
  readonly changes!: EventChangesDto;

  @OwnEdgeField(() => EventActorDto, 'Who made the change.')
  readonly actor!: EventActorDto;
}

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
