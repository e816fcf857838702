import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { parseId, Refusal } from '@banking/domain';

/** Reads an id from the path. @throws Refusal `id_malformed` */
@Injectable()
export class IdPipe implements PipeTransform<string, number> {
  transform(text: string, { data: name = 'id' }: ArgumentMetadata): number {
    const id = parseId(text);
    if (id === undefined) throw malformedId(name);
    return id;
  }
}

export function malformedId(name: string): Refusal {
  const message = `${name} must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}, in digits without a leading zero.`;
  return new Refusal('id_malformed', message, { details: [{ path: name, reason: 'id_malformed', message }] });
}

export const ApiIdParam = (name: string, description: string): MethodDecorator =>
  ApiParam({
    name,
    description,
    schema: { type: 'integer', format: 'int64', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
  });
