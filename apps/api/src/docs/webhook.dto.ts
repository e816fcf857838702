import { EventDto } from '../events/event.dto.js';
import { EdgeField, Field, Ours, TimeField } from '../http/field.decorator.js';

/** The body of a webhook about an event. */
export class WebhookEventDto {
  @Field('ours', {
    type: 'string',
    description:
      'The type of the event, as in `data`. New types may be added; respond to those you do not know with 204.',
    example: 'order.completed',
  })
  readonly type!: string;

  @Ours()
  @TimeField('The time of the change. The header `webhook-timestamp` has the time of the attempt.', true)
  readonly timestamp!: string;

  @Ours()
  @EdgeField(() => EventDto, 'The event, as `GET /events/{eventId}` returns it. Read the resource for its contents.')
  readonly data!: EventDto;
}

/** The body of a webhook that tests an endpoint. */
export class WebhookTestDto {
  @Field('ours', {
    type: 'string',
    description: 'Always `webhook.test`.',
    enum: ['webhook.test'],
    example: 'webhook.test',
  })
  readonly type!: string;

  @Ours()
  @TimeField('The time at which the test was requested.', true)
  readonly timestamp!: string;

  @Field('ours', {
    type: 'object',
    additionalProperties: false,
    description: 'Empty, because a test belongs to no event.',
    example: {},
  })
  readonly data!: object;
}
