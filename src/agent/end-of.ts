/** What a generator returns, once it has yielded all; nobody looks at what it yields. */
export async function endOf<T>(events: AsyncGenerator<unknown, T, undefined>): Promise<T> {
  for (;;) {
    const next = await events.next();
    if (next.done === true) return next.value;
  }
}
