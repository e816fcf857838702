import {
  type CreateWebhookEndpointInput,
  EVENT_TYPES,
  WEBHOOK_URL_MAX,
  type WebhookAttempt,
  type WebhookDelivery,
  type WebhookDeliveryQuery,
  type WebhookEndpoint,
  type WebhookEndpointChange,
  type WebhookEndpointWithSecret,
  type WebhookReplay,
  type WebhookReplayInput,
} from '@banking/domain';
import { Field, OwnEdgeField, OwnIdField, OwnTextField, OwnTimeField } from '../http/field.decorator.js';
import { ChoiceField, ChoicesField, LineField, RequiredInstantField } from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { ChoiceParameter } from '../input/parameter.decorator.js';

export class WebhookAttemptDto implements WebhookAttempt {
  @OwnTimeField('Time of the request.', true)
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

  @OwnTextField('The begin of the response, as text without control characters.', 'Internal Server Error', false)
  readonly response?: string;

  @OwnTextField(
    'Why there is no response: `timeout`, `connection_failed`, `tls_failed`. New values may be added.',
    'timeout',
    false,
  )
  readonly error?: NonNullable<WebhookAttempt['error']>;
}

export class WebhookDeliveryDto implements WebhookDelivery {
  @OwnIdField('The delivery.', 1)
  readonly id!: WebhookDelivery['id'];

  @OwnIdField('The event. Missing for a test.', 48, false)
  readonly eventID?: NonNullable<WebhookDelivery['eventID']>;

  @OwnTextField('The type of the event, or `webhook.test`.', 'webhook.test')
  readonly eventType!: WebhookDelivery['eventType'];

  @OwnTextField(
    '`event`, `test`, or `replay`: an event that is delivered again by request. New values may be added.',
    'test',
  )
  readonly kind!: WebhookDelivery['kind'];

  @OwnTextField(
    '`pending`, `delivered` (the response was 2xx), or `failed` (no attempt is left). New values may be added.',
    'pending',
  )
  readonly status!: WebhookDelivery['status'];

  @Field('ours', {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    description: 'How many requests were sent.',
    example: 0,
  })
  readonly attempts!: number;

  @OwnTimeField('When the next request is due. Present while the delivery is pending.')
  readonly nextAttemptAt?: NonNullable<WebhookDelivery['nextAttemptAt']>;

  @OwnEdgeField(() => WebhookAttemptDto, 'The last request, and its response.', false)
  readonly lastAttempt?: WebhookAttemptDto;

  @OwnTimeField('Time at which the delivery was recorded.', true)
  readonly createdAt!: WebhookDelivery['createdAt'];
}

export class WebhookEndpointDto implements WebhookEndpoint {
  @OwnIdField('The endpoint.', 1)
  readonly id!: WebhookEndpoint['id'];

  @OwnTextField('The address that receives the events.', 'https://hooks.northwind.example/banking')
  readonly url!: string;

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: 'The types of events that are delivered. Empty for all types.',
    example: ['payout.parked'],
  })
  readonly types!: WebhookEndpoint['types'];

  @OwnTextField('Your name for the endpoint.', 'Ledger of Northwind', false)
  readonly description?: string;

  @OwnTextField(
    '`enabled`; `failing`: deliveries fail, and later events wait; `disabled`: nothing is delivered. New values may be added.',
    'enabled',
  )
  readonly status!: WebhookEndpoint['status'];

  @OwnTextField(
    'Of a disabled endpoint: `user` (an administrator), `gone` (it responded 410), `failing` (it failed for five days), ' +
      '`owner_without_role` (who created or last enabled it is no administrator any more). ' +
      'New values may be added.',
    'user',
    false,
  )
  readonly disabledReason?: NonNullable<WebhookEndpoint['disabledReason']>;

  @OwnTimeField('Since when its deliveries fail.')
  readonly failingSince?: NonNullable<WebhookEndpoint['failingSince']>;

  @OwnTimeField('Time of creation.', true)
  readonly createdAt!: WebhookEndpoint['createdAt'];
}

export class WebhookEndpointWithSecretDto extends WebhookEndpointDto implements WebhookEndpointWithSecret {
  @OwnTextField(
    '`whsec_`, and the secret of 32 bytes in base64. Shown once, and not in the replay of a request.',
    'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLxKlQ0YfDZo=',
    false,
  )
  readonly secret?: string;
}

export class WebhookReplayDto implements WebhookReplay {
  @Field('ours', {
    type: 'integer',
    format: 'int32',
    minimum: 0,
    description: 'How many events are delivered again.',
    example: 12,
  })
  readonly deliveries!: number;
}

const DESCRIPTION_MAX = 140;
const URL = 'https://hooks.northwind.example/banking';
const TYPES = EVENT_TYPES.map(({ type }) => type);

export class CreateWebhookEndpointInputDto implements CreateWebhookEndpointInput {
  @LineField(
    'ours',
    WEBHOOK_URL_MAX,
    'The address that receives the events: `https`, a public host, no credentials, no fragment.',
    URL,
    true,
  )
  readonly url!: string;

  @ChoicesField('ours', TYPES, 'The types of events to deliver. Without any, all types, also those of later releases.')
  readonly types?: NonNullable<CreateWebhookEndpointInput['types']>;

  @LineField('ours', DESCRIPTION_MAX, 'Your name for the endpoint.', 'Ledger of Northwind')
  readonly description?: string;
}

export class WebhookEndpointChangeDto implements Omit<WebhookEndpointChange, 'webhookEndpointId'> {
  @LineField('ours', WEBHOOK_URL_MAX, 'The new address.', `${URL}/v2`)
  readonly url?: string;

  @ChoicesField('ours', TYPES, 'The new types of events. An empty list stands for all types.')
  readonly types?: NonNullable<WebhookEndpointChange['types']>;

  @LineField('ours', DESCRIPTION_MAX, 'The new name.', 'Ledger of Northwind, Berlin')
  readonly description?: string;

  @ChoiceField(
    'ours',
    ['enabled', 'disabled'],
    'A disabled endpoint receives nothing. Enabled again, it continues with the first event that was not delivered.',
  )
  readonly status?: NonNullable<WebhookEndpointChange['status']>;
}

export class WebhookReplayInputDto implements Omit<WebhookReplayInput, 'webhookEndpointId'> {
  @RequiredInstantField('ours', 'Events that were created at this instant or later.', '2026-11-21T09:00:00Z')
  readonly createdFrom!: string;

  @RequiredInstantField('ours', 'Events that were created before this instant.', '2026-11-21T10:00:00Z')
  readonly createdTo!: string;
}

export class WebhookDeliveryQueryDto extends PageQueryDto implements Omit<WebhookDeliveryQuery, 'webhookEndpointId'> {
  @ChoiceParameter('ours', ['pending', 'delivered', 'failed'], 'Deliveries with this status.')
  readonly status?: NonNullable<WebhookDeliveryQuery['status']>;
}
