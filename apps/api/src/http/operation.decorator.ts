import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiExtension, ApiHeader, ApiOperation, ApiResponse } from '@nestjs/swagger';
import { type RefusalReason, REFUSALS } from '@banking/domain';
import { OPERATION } from '../access/access.guard.js';
import { ACCESS, isRole, type OperationId } from '../access/matrix.js';
import { ErrorDto } from './error.dto.js';
import type { Provenance } from './field.decorator.js';

export interface OperationText {
  readonly summary: string;
  readonly description: string;
  readonly provenance: Provenance;
  /** What the operation refuses beside what its access brings. */
  readonly refusals: readonly RefusalReason[];
  /** The path that replaces this one. */
  readonly successor?: string;
}

const SIGNED_IN: readonly RefusalReason[] = ['header_repeated', 'request_malformed', 'not_authenticated', 'not_acceptable', 'rate_limited', 'unavailable']; // prettier-ignore
const IN_A_WORKSPACE: readonly RefusalReason[] = ['workspace_id_required', 'workspace_id_invalid', 'workspace_forbidden', 'role_insufficient']; // prettier-ignore

/**
 * Says which operation a route is: what the guard checks and what the documentation shows come from the same line, so
 * they cannot differ. A route without it cannot be called.
 */
export function Operation(id: OperationId, text: OperationText): MethodDecorator {
  const access = ACCESS[id];
  const decorators: MethodDecorator[] = [
    SetMetadata(OPERATION, id),
    ApiOperation({
      operationId: text.successor === undefined ? id : `${id}Formerly`,
      summary: text.summary,
      description: `${text.description}\n\n**Access:** ${accessText(id)}`,
      ...(text.successor === undefined ? {} : { deprecated: true }),
    }),
    ApiExtension('x-provenance', text.provenance),
  ];
  const refusals = [...text.refusals];
  if (access !== 'public') {
    decorators.push(ApiBearerAuth());
    refusals.unshift(...SIGNED_IN);
  }
  if (isRole(access)) {
    refusals.unshift(...IN_A_WORKSPACE);
    decorators.push(
      ApiHeader({
        name: 'Workspace-ID',
        required: true,
        description:
          'The workspace to act in: the id of `edges.workspace` in a role of yours (`GET /apps/{appId}/users`).',
        schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      }),
    );
  }
  return applyDecorators(...decorators, ...refusalResponses([...refusals, 'internal_error']));
}

function accessText(id: OperationId): string {
  const access = ACCESS[id];
  if (access === 'public') return 'public.';
  if (!isRole(access)) return 'every user with a token.';
  return `role \`${access}\`${access === 'member' ? ' or `admin`' : ''} in the workspace of the \`Workspace-ID\` header.`;
}

/** One documented answer for each status, with an example for each reason. */
function refusalResponses(reasons: readonly RefusalReason[]): MethodDecorator[] {
  const statuses = new Map<number, Set<RefusalReason>>();
  for (const reason of reasons) {
    const { status } = REFUSALS[reason];
    statuses.set(status, (statuses.get(status) ?? new Set()).add(reason));
  }
  return [...statuses]
    .sort(([a], [b]) => a - b)
    .map(([status, some]) => {
      const list = [...some];
      return ApiResponse({
        status,
        description: list
          .map((reason) => `\`${reason}\`: ${REFUSALS[reason].meaning} ${REFUSALS[reason].action}`)
          .join('\n\n'),
        type: ErrorDto,
        examples: Object.fromEntries(list.map((reason) => [reason, { summary: reason, value: exampleOf(reason) }])),
        headers: headersOf(status),
      });
    });
}

function exampleOf(reason: RefusalReason) {
  const { errorCode, meaning } = REFUSALS[reason];
  return { errorCode, message: meaning, reason, requestId: '0c1d8a52-6b5e-4f4e-9c1c-3f0f7e6f1a2b' };
}

function headersOf(status: number) {
  const requestId = {
    'X-Request-Id': { description: 'The same as `requestId` in the body.', schema: { type: 'string' as const } },
  };
  if (status === 401)
    return { ...requestId, 'WWW-Authenticate': { description: '`Bearer`', schema: { type: 'string' as const } } };
  if (status !== 429 && status !== 503) return requestId;
  return {
    ...requestId,
    'Retry-After': { description: 'Seconds to wait before trying again.', schema: { type: 'integer' as const } },
  };
}
