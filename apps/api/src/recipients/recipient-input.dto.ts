import type {
  InternalRecipientWish,
  InternationalRecipientWish,
  RecipientChange,
  RecipientQuery,
} from '@banking/domain';
import { BooleanBodyField, LineField, ObjectField } from '../input/body-field.decorator.js';
import { PageQueryDto } from '../input/page.js';
import { BooleanParameter } from '../input/parameter.decorator.js';
import { BENEFICIARY_DATA } from './recipient.dto.js';

const LINE_MAX = 140;
const SAVED = 'Whether to offer the recipient again: `GET /recipients?saved=true` lists those.';

/** Which recipients are wanted. */
export class RecipientQueryDto extends PageQueryDto implements RecipientQuery {
  @BooleanParameter('ours', 'Only those to be offered again, or only the others.')
  readonly saved?: boolean;
}

export class InternationalRecipientDto implements Pick<InternationalRecipientWish, 'data' | 'alias' | 'saved'> {
  @ObjectField('known', {
    ...BENEFICIARY_DATA,
    additionalProperties: false,
    description: 'Who finally owns the money: what `GET /recipients/validation-schema` asks for, exactly.',
  })
  readonly data!: InternationalRecipientWish['data'];

  @LineField('ours', LINE_MAX, 'What you call them.', 'Asha, Pune')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class InternalRecipientDto implements InternalRecipientWish {
  @LineField('ours', LINE_MAX, 'The `code` of the account to pay to.', 'NW0000000006', true)
  readonly accountCode!: string;

  @LineField('ours', LINE_MAX, 'The name to show. Without it the alias is shown, without that the code.', 'Southwind')
  readonly name?: string;

  @LineField('ours', LINE_MAX, 'What you call them.', 'Southwind, deposits')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { default: true, example: true })
  readonly saved?: boolean;
}

export class RecipientChangeDto implements Omit<RecipientChange, 'recipientId'> {
  @LineField('ours', LINE_MAX, 'What you call them from now on.', 'Berlin, rent')
  readonly alias?: string;

  @BooleanBodyField('ours', SAVED, { example: false })
  readonly saved?: boolean;
}
