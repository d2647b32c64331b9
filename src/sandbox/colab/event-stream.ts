/** The `data` of each server-sent event, in order. Ending the loop early cancels the body. */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    } else if (line.startsWith('data:')) {
      data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
  }
}

/** Lines end with LF, CRLF or CR; an unfinished last one is not an event and is dropped. */
async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let afterReturn = false;
  for await (const bytes of body) {
    let text = decoder.decode(bytes, { stream: true });
    if (text === '') continue;
    if (afterReturn && text.startsWith('\n')) text = text.slice(1);
    afterReturn = text.endsWith('\r');
    const lines = text.split(/\r\n|\n|\r/);
    const unfinished = lines.pop() ?? '';
    for (const line of lines) {
      pieces.push(line);
      yield pieces.join('');
      pieces = [];
    }
    pieces.push(unfinished);
  }
}
