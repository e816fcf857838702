import type { Role, User, Workspace } from '@banking/domain';
import { EdgeField, IdField, TextField, TimeField } from '../http/field.decorator.js';

class WorkspaceDto implements Workspace {
  @IdField('The workspace: the value to send in the `Workspace-ID` header.', 1)
  readonly id!: Workspace['id'];

  @TextField('Name.', 'Northwind Trading')
  readonly name!: string;

  @TextField('`personal` or `business`.', 'business', false)
  readonly type?: NonNullable<Workspace['type']>;

  @TimeField('When the workspace was made.')
  readonly createdAt?: NonNullable<Workspace['createdAt']>;

  @TimeField('When it last changed.')
  readonly updatedAt?: NonNullable<Workspace['updatedAt']>;
}

class RoleEdgesDto {
  @EdgeField(() => WorkspaceDto, 'The workspace the role is held in.')
  readonly workspace!: WorkspaceDto;
}

class RoleDto implements Role {
  @IdField('The role of this user in this workspace.', 1)
  readonly id!: Role['id'];

  @TextField('`member` reads and pays; `admin` also opens, renames and disables accounts.', 'admin')
  readonly role!: Role['role'];

  @TimeField('When it was granted.')
  readonly createdAt?: NonNullable<Role['createdAt']>;

  @TimeField('When it last changed.')
  readonly updatedAt?: NonNullable<Role['updatedAt']>;

  @EdgeField(() => RoleEdgesDto, 'Related records.')
  readonly edges!: RoleEdgesDto;
}

class UserEdgesDto {
  @EdgeField(() => [RoleDto], 'The roles you may see, empty for a user without one.', false)
  readonly roles?: readonly RoleDto[];
}

export class UserDto implements User {
  @IdField('The user.', 1)
  readonly id!: User['id'];

  @TextField('E-mail, case-folded.', 'ada@northwind.example')
  readonly email!: string;

  @TextField('For example `pending`, `completed` or `suspended`. Only a completed user has roles.', 'completed', false)
  readonly status?: NonNullable<User['status']>;

  @TextField('`personal` or `business`.', 'business', false)
  readonly userType?: NonNullable<User['userType']>;

  @TimeField('When the user was made.')
  readonly createdAt?: NonNullable<User['createdAt']>;

  @EdgeField(() => UserEdgesDto, 'Related records.')
  readonly edges!: UserEdgesDto;
}
