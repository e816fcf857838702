import type { App } from '@banking/domain';
import { IdField, TextField, TimeField } from '../http/field.decorator.js';

export class AppDto implements App {
  @IdField('The app.', 1)
  readonly id!: App['id'];

  @TextField('Name.', 'Northwind Treasury')
  readonly name!: string;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<App['createdAt']>;
}
