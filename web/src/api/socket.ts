// One WebSocket of frames, from its handshake to its end.
//
// WebSockets and not server-sent events: a browser opens six plain connections to a host for
// all of its tabs together, and streams that never end would use them up.
import { asProblem, isAbort, Problem } from "./problem";
import { object, text } from "./json";
import { queryOf, request, type RequestOptions } from "./request";
import { currentPass, forgetPass } from "./pass";

export interface Frame {
  id?: string;
  event: string;
  data: unknown;
}

export interface SocketOptions {
  path: string;
  query: RequestOptions["query"];
  signal: AbortSignal;
  /** The socket is open. */
  onOpen: () => void;
  /** Returns true to end the stream. */
  onFrame: (frame: Frame) => boolean;
}

const NO_SOCKET = "no-socket";
// A daemon that is there answers within moments; one that is not may never answer.
const HANDSHAKE = 15_000;
// The daemon sends a heartbeat every 15 seconds. Twice nothing is a dead connection without a sign
// of it, as after a laptop's sleep.
const SILENCE = 35_000;

/** Reads frames until the stream is over, in whatever way. Throws a `Problem` if it never began. */
export async function readSocket(options: SocketOptions): Promise<void> {
  if (await read(options, await currentPass())) return;
  if (options.signal.aborted) return;
  const why = await whyRefused(options);
  // To get the reason, we have proved ourselves, perhaps to a daemon that was started since.
  if (why.code !== NO_SOCKET) throw why;
  if (await read(options, await currentPass())) return;
  if (!options.signal.aborted) throw await whyRefused(options);
}

/** Resolves with whether the socket was ever open. */
function read({ path, query, signal, onOpen, onFrame }: SocketOptions, pass: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const socket = socketTo(path + queryOf(query), pass);
    let wasOpen = false;
    const end = () => {
      clearTimeout(alarm);
      signal.removeEventListener("abort", end);
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      resolve(wasOpen);
    };
    // The daemon may have gone, and another server may be there when we reconnect.
    const lose = () => {
      forgetPass(pass ?? "");
      end();
    };
    let alarm = setTimeout(lose, HANDSHAKE);
    const resetAlarm = () => {
      clearTimeout(alarm);
      alarm = setTimeout(lose, SILENCE);
    };
    signal.addEventListener("abort", end);
    socket.onclose = lose;
    socket.onopen = () => {
      wasOpen = true;
      resetAlarm();
      onOpen();
    };
    socket.onmessage = ({ data }) => {
      resetAlarm();
      if (framesOf(data).some(onFrame)) lose();
    };
  });
}

function socketTo(target: string, pass: string | undefined): WebSocket {
  const url = new URL(target, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new WebSocket(url, ["switchyard.batch.v1", ...(pass ? [`switchyard-page.${pass}`] : [])]);
}

/** Browsers do not give the reason of a failed handshake, so the same is requested once more over HTTP. */
async function whyRefused({ path, query, signal }: SocketOptions): Promise<Problem> {
  try {
    const response = await request(path, { query, signal, headers: { Accept: "text/event-stream" }, timeout: HANDSHAKE });
    response.body?.cancel().catch(() => undefined);
  } catch (error) {
    if (isAbort(error)) throw error;
    return asProblem(error);
  }
  return new Problem({
    type: `urn:switchyard:page:${NO_SOCKET}`,
    title: "the daemon answers, but the stream could not be opened",
    remedy: "see whether something in between, such as a proxy, lets WebSockets pass",
  });
}

/** A message has all frames that were ready: opening a long session takes few messages. */
function framesOf(data: unknown): Frame[] {
  if (typeof data !== "string") return [];
  try {
    const frames: unknown = JSON.parse(data);
    return Array.isArray(frames) ? frames.filter(isFrame) : [];
  } catch {
    // Frames that are lost with it are noticed by the hole in the numbers.
    return [];
  }
}

function isFrame(frame: unknown): frame is Frame {
  return text(object(frame).event) !== undefined;
}
