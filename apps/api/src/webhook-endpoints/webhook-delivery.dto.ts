import type { WebhookAttempt, WebhookDelivery } from '@banking/domain';
import { EdgeField, Field, IdField, Ours, TimeField } from '../http/field.decorator.js';

export class WebhookAttemptDto implements WebhookAttempt {
  @Ours()
  @TimeField('Time of the request.', true)
  readonly at!: WebhookAttempt['at'];

  @Field('ours', {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    description: 'How long it took, in milliseconds.',
    example: 84,
  })
  readonly durationMs!: number;

  @Field('ours', {
    type: 'integer',
    format: 'int32',
    description: 'The status of the response. Missing without a response.',
    example: 500,
    required: false,
  })
  readonly responseStatus?: number;

  @Field('ours', {
    type: 'string',
    description: 'The begin of the response, as text without control characters.',
    example: 'Internal Server Error',
    required: false,
  })
  readonly response?: string;

  @Field('ours', {
    type: 'string',
    description:
      'Why there is no response: `timeout`, `connection_failed`, `tls_failed`, `response_too_large`. ' +
      'New values may be added.',
    example: 'timeout',
    required: false,
  })
  readonly error?: NonNullable<WebhookAttempt['error']>;
}

export class WebhookDeliveryDto implements WebhookDelivery {
  @Ours()
  @IdField('The delivery.', 1)
  readonly id!: WebhookDelivery['id'];

  @Ours()
  @IdField('The event. Missing for a test.', 48, false)
  readonly eventID?: NonNullable<WebhookDelivery['eventID']>;

  @Field('ours', {
    type: 'string',
    description: 'The type of the event, or `webhook.test`.',
    example: 'webhook.test',
  })
  readonly eventType!: WebhookDelivery['eventType'];

  @Field('ours', {
    type: 'string',
    description: '`event`, `test`, or `replay`: an event that is delivered again by request. New values may be added.',
    example: 'test',
  })
  readonly kind!: WebhookDelivery['kind'];

  @Field('ours', {
    type: 'string',
    description:
      '`pending`, `delivered` (the response was 2xx), or `failed` (no attempt is left). New values may be added.',
    example: 'pending',
  })
  readonly status!: WebhookDelivery['status'];

  @Field('ours', {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    description: 'How many requests were sent.',
    example: 0,
  })
  readonly attempts!: number;

  @Ours()
  @TimeField('When the next request is due. Present while the delivery is pending.')
  readonly nextAttemptAt?: NonNullable<WebhookDelivery['nextAttemptAt']>;

  @Ours()
  @EdgeField(() => WebhookAttemptDto, 'The last request, and its response.', false)
  readonly lastAttempt?: WebhookAttemptDto;

  @Ours()
  @TimeField('Time at which the delivery was recorded.', true)
  readonly createdAt!: WebhookDelivery['createdAt'];
}
