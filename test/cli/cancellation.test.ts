import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Cancelled, cancelOnSignals } from '../../src/cli/cancellation.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('signals', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s aborts, and says by what', (name) => {
    using cancellation = cancelOnSignals({ onInsist: () => undefined });
    process.emit(name, name);
    expect(cancellation.signal.reason).toEqual(new Cancelled(name));
  });

  it('that repeat within half a second count as one, however many there are', () => {
    const onInsist = vi.fn();
    using cancellation = cancelOnSignals({ onInsist });
    for (const pauseMs of [0, 400, 400, 499]) {
      vi.advanceTimersByTime(pauseMs);
      process.emit('SIGINT', 'SIGINT');
    }
    expect(cancellation.signal.aborted).toBe(true);
    expect(onInsist).not.toHaveBeenCalled();
  });

  it('a later one insists', () => {
    const onInsist = vi.fn();
    using cancellation = cancelOnSignals({ onInsist });
    process.emit('SIGINT', 'SIGINT');
    vi.advanceTimersByTime(501);
    process.emit('SIGINT', 'SIGINT');
    process.emit('SIGINT', 'SIGINT');
    expect(cancellation.signal.aborted).toBe(true);
    expect(onInsist).toHaveBeenCalledTimes(1);
  });

  it('are no longer listened to afterwards', () => {
    const before = process.listenerCount('SIGINT');
    const cancellation = cancelOnSignals({ onInsist: () => undefined });
    expect(process.listenerCount('SIGINT')).toBe(before + 1);
    cancellation[Symbol.dispose]();
    expect(process.listenerCount('SIGINT')).toBe(before);
  });
});
