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
    // The daemon ends its lines with \n alone; whatever else the standard allows is made so.
    if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      const line = text.slice(start, end);
      start = end + 1;
      if (this.#rest === "") this.#line(line, frames);
      else {
        // A large event comes in many pieces, which are put together once.
        const whole = this.#rest + line;
        this.#rest = "";
        this.#line(whole, frames);
      }
    }
    this.#rest += text.slice(start);
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") {
      if (this.#data.length > 0) {
        const data = this.#data.length === 1 ? (this.#data[0] ?? "") : this.#data.join("\n");
        frames.push({ id: this.#id, event: this.#event || "message", data });
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

/** The frames of a response, those of one read together. Calls `onBytes` for anything received. */
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
