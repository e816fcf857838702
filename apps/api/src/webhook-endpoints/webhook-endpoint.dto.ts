import type { WebhookEndpoint, WebhookEndpointWithSecret, WebhookReplay } from '@banking/domain';
import { Field, IdField, Ours, TimeField } from '../http/field.decorator.js';

export class WebhookEndpointDto implements WebhookEndpoint {
  @Ours()
  @IdField('The endpoint.', 1)
  readonly id!: WebhookEndpoint['id'];

  @Field('ours', {
    type: 'string',
    description: 'The address that receives the events.',
    example: 'https://hooks.northwind.example/banking',
  })
  readonly url!: string;

  @Field('ours', {
    type: 'array',
    items: { type: 'string' },
    description: 'The types of events that are delivered. Empty for all types.',
    example: ['payout.parked'],
  })
  readonly types!: WebhookEndpoint['types'];

  @Field('ours', {
    type: 'string',
    description: 'Your name for the endpoint.',
    example: 'Ledger of Northwind',
    required: false,
  })
  readonly description?: string;

  @Field('ours', {
    type: 'string',
    description:
      '`enabled`; `failing`: deliveries fail, and later events wait; `disabled`: nothing is delivered. New values may be added.',
    example: 'enabled',
  })
  readonly status!: WebhookEndpoint['status'];

  @Field('ours', {
    type: 'string',
    description:
      'Of a disabled endpoint: `user` (an administrator), `gone` (it responded 410), `failing` (it failed for five days), ' +
      '`owner_without_role` (who created or last enabled it is no administrator any more). ' +
      'New values may be added.',
    example: 'user',
    required: false,
  })
  readonly disabledReason?: NonNullable<WebhookEndpoint['disabledReason']>;

  @Ours()
  @TimeField('Since when its deliveries fail.')
  readonly failingSince?: NonNullable<WebhookEndpoint['failingSince']>;

  @Ours()
  @TimeField('Time of creation.', true)
  readonly createdAt!: WebhookEndpoint['createdAt'];
}

export class WebhookEndpointWithSecretDto extends WebhookEndpointDto implements WebhookEndpointWithSecret {
  @Field('ours', {
    type: 'string',
    description: '`whsec_`, and the secret of 32 bytes in base64. Shown once, and not in the replay of a request.',
    example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwLxKlQ0YfDZo=',
    required: false,
  })
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
