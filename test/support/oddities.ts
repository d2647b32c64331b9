/**
 * What a server may do to its answers without their meaning being another: protobuf's JSON leaves empty fields out and
 * writes 64-bit numbers as strings, later versions have more fields, and event streams come in many forms.
 */
export class Oddities {
  #turn = 0;

  /** A tool's result: `content` and `structuredContent`. */
  result(value: object): object {
    this.#turn += 1;
    const odd = { ...withoutEmpty(value), futureField: { nested: [1, null] } };
    const content = [{ type: 'text', text: JSON.stringify(odd), annotations: { futureField: 1 } }];
    return this.#turn % 2 === 0 ? { content } : { content, structuredContent: odd };
  }

  /** One event of a stream, as the bytes in which it is sent; without our own server's word on which stream it is. */
  event(message: object): Buffer[] {
    this.#turn += 1;
    const end = this.#turn % 2 === 0 ? '\r\n' : '\n';
    const data = JSON.stringify({ ...unmarked(message), futureField: true });
    const lines = [': still here', `id: ${this.#turn}`, 'retry: 1000', `data:${data}`, '', ''];
    const bytes = Buffer.from(lines.join(end));
    const middle = bytes.length >> 1;
    return [bytes.subarray(0, middle), bytes.subarray(middle)];
  }
}

function unmarked(message: object): object {
  if (!('params' in message) || typeof message.params !== 'object') return message;
  return { ...message, params: { ...message.params, _meta: undefined } };
}

function withoutEmpty(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => !isEmpty(field))
      .map(([name, field]): [string, unknown] => [name, odd(name, field)]),
  );
}

function isEmpty(field: unknown): boolean {
  return (
    field === undefined ||
    field === '' ||
    field === 0 ||
    field === false ||
    (Array.isArray(field) && field.length === 0)
  );
}

const NUMBERS = new Set(['executionCount', 'sizeBytes']);

function odd(name: string, field: unknown): unknown {
  if (typeof field === 'number' && NUMBERS.has(name)) return String(field);
  if (Array.isArray(field)) return field.map((item: unknown) => odd('', item));
  return typeof field === 'object' && field !== null ? withoutEmpty(field) : field;
}
