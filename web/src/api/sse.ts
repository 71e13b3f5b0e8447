// Server-sent events from a byte stream. Our own reader instead of EventSource, which hides
// status codes and problems, and cannot send headers.
//
// In: text in any cut. Out: whole frames, in order. A frame that the end of the stream cuts
// off is dropped, as the standard says: it comes again after the cursor.

export interface Frame {
  id?: string;
  event: string;
  data: string;
}

export class SseParser {
  #rest = "";
  #id: string | undefined;
  #event = "";
  #data: string[] = [];
  #afterReturn = false;

  feed(text: string): Frame[] {
    const frames: Frame[] = [];
    if (text === "") return frames;
    // A line may end with \r\n, and the cut may fall between the two.
    if (this.#afterReturn && text.startsWith("\n")) text = text.slice(1);
    this.#afterReturn = text.endsWith("\r");
    // A large event comes in many pieces; looking through all of them each time adds up.
    if (!/[\r\n]/.test(text)) {
      this.#rest += text;
      return frames;
    }
    const lines = (this.#rest + text).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line, frames);
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        frames.push({ id: this.#id, event: this.#event || "message", data: this.#data.join("\n") });
      }
      this.#id = undefined;
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment keeps the connection awake
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
  }
}

/** The frames of an answer, those of one read together. Calls `onBytes` for anything heard. */
export async function* framesOf(response: Response, onBytes?: () => void): AsyncGenerator<Frame[]> {
  if (!response.body) return;
  const parser = new SseParser();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes?.();
      const frames = parser.feed(decoder.decode(value, { stream: true }));
      if (frames.length > 0) yield frames;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}
