import { PARTY_TYPES, type Role, type User, type Workspace } from '@banking/domain';
import { EdgeField, IdField, ListedField, TextField, TimeField } from '../http/field.decorator.js';

class WorkspaceDto implements Workspace {
  @IdField('The workspace: the value to send in the `Workspace-ID` header.', 1)
  readonly id!: Workspace['id'];

  @TextField('Name.', 'Northwind Trading')
  readonly name!: string;

  @ListedField('`personal` or `business`.', PARTY_TYPES, 'business', false)
  readonly type?: NonNullable<Workspace['type']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<Workspace['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Workspace['updatedAt']>;
}

class RoleEdgesDto {
  @EdgeField(() => WorkspaceDto, 'The workspace of the role.')
  readonly workspace!: WorkspaceDto;
}

class RoleDto implements Role {
  @IdField('The role of this user in this workspace.', 1)
  readonly id!: Role['id'];

  @TextField('`member` reads and pays; `admin` also opens, renames and disables accounts.', 'admin')
  readonly role!: Role['role'];

  @TimeField('Time of the grant.')
  readonly createdAt?: NonNullable<Role['createdAt']>;

  @TimeField('Time of the last change.')
  readonly updatedAt?: NonNullable<Role['updatedAt']>;

  @EdgeField(() => RoleEdgesDto, 'Related records.')
  readonly edges!: RoleEdgesDto;
}

class UserEdgesDto {
  @EdgeField(() => [RoleDto], 'The roles you may see. Empty for a user without a role.', false)
  readonly roles?: readonly RoleDto[];
}

export class UserDto implements User {
  @IdField('The user.', 1)
  readonly id!: User['id'];

  @TextField('E-mail, case-folded.', 'ada@northwind.example')
  readonly email!: string;

  @TextField('For example `pending`, `completed` or `suspended`. Only a completed user has roles.', 'completed', false)
  readonly status?: NonNullable<User['status']>;

  @ListedField('`personal` or `business`.', PARTY_TYPES, 'business', false)
  readonly userType?: NonNullable<User['userType']>;

  @TimeField('Time of creation.')
  readonly createdAt?: NonNullable<User['createdAt']>;

  @EdgeField(() => UserEdgesDto, 'Related records.')
  readonly edges!: UserEdgesDto;
}
