import type {
  AddInternalRecipientInput,
  AddInternationalRecipientInput,
  RecipientChange,
  RecipientQuery,
} from '@banking/domain';
import { BooleanBodyField, LineField, ObjectField } from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { BooleanParameter } from '../input/parameter.decorator.js';
import { BENEFICIARY_DATA } from './recipient.dto.js';

const LINE_MAX = 140;
const SAVED = 'Whether the recipient is offered again. `GET /recipients?saved=true` lists these recipients.';

/** The filter of the list of recipients. */
export class RecipientQueryDto extends PageQueryDto implements RecipientQuery {
  @BooleanParameter('ours', 'Only recipients with this `saved` flag.')
  readonly saved?: boolean;
}

export class InternationalRecipientDto implements Pick<AddInternationalRecipientInput, 'data' | 'alias' | 'saved'> {
  @ObjectField('known', {
    ...BENEFICIARY_DATA,
    additionalProperties: false,
    description: 'The beneficiary, in exactly the fields of a schema of `GET /recipients/validation-schema`.',
  })
  readonly data!: AddInternationalRecipientInput['data'];

  @LineField('ours', LINE_MAX, 'Nickname.', 'Asha, Pune')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class InternalRecipientDto implements AddInternalRecipientInput {
  @LineField('ours', LINE_MAX, 'The `code` of the account to pay to.', 'NW0000000006', true)
  readonly accountCode!: string;

  @LineField('ours', LINE_MAX, 'The name of the recipient. Defaults to the alias, or else to the code.', 'Southwind')
  readonly name?: string;

  @LineField('ours', LINE_MAX, 'Nickname.', 'Southwind, deposits')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class RecipientChangeDto implements Omit<RecipientChange, 'recipientId'> {
  @LineField('ours', LINE_MAX, 'The new nickname.', 'Berlin, rent')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { example: false })
  readonly saved?: boolean;
}
